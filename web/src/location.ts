// The address after "#": which part, view and item the page shows. Links to a layer can be shared.
import { useEffect, useState } from "preact/hooks";

export type Place = Record<string, string>;

export function parsePlace(hash: string): Place {
  const place: Place = {};
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) place[key] = value;
  if (place.layer !== undefined && place.view === undefined) place.view = "layers";
  return place;
}

export function linkTo(place: Place): string {
  return `#${new URLSearchParams(place).toString()}`;
}

export function go(place: Place): void {
  window.location.hash = linkTo(place);
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => parsePlace(window.location.hash));
  useEffect(() => {
    const read = () => setPlace(parsePlace(window.location.hash));
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }, []);
  return place;
}
