// The address after "#": which part, view and item the page shows. Links to a layer can be shared.
import { useLayoutEffect, useState } from "preact/hooks";

export type Place = Record<string, string>;

export function parsePlace(hash: string): Place {
  const place: Place = {};
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) place[key] = value;
  if (place.layer !== undefined && place.view === undefined) place.view = "layers";
  return place;
}

export function linkTo(place: Place): string {
  const known = Object.entries(place).filter(([, value]) => value !== "");
  return `#${new URLSearchParams(known).toString()}`;
}

export function go(place: Place): void {
  window.location.hash = linkTo(place);
}

/** Follows links inside the page itself: in a frame of a notebook they would lead out of it. */
function followLink(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.('a[href^="#"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  const hash = link.getAttribute("href")!;
  if (hash === "#main") return;
  event.preventDefault();
  window.location.hash = hash;
}

export function usePlace(): Place {
  const [place, setPlace] = useState(() => parsePlace(window.location.hash));
  // Before the page can be seen, so that no click is too early.
  useLayoutEffect(() => {
    const read = () => setPlace(parsePlace(window.location.hash));
    window.addEventListener("hashchange", read);
    document.addEventListener("click", followLink);
    return () => {
      window.removeEventListener("hashchange", read);
      document.removeEventListener("click", followLink);
    };
  }, []);
  return place;
}
