// The frame: title, menu of views, the chosen view, and the conditions of the numbers.
import type { ComponentType } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { PageData, Part } from "./data/container";
import { name } from "./format";
import { go, linkTo, usePlace, type Place } from "./location";
import { isDark } from "./palette";
import { Finder, type Target } from "./parts/finder";
import { conditionsOf, layerNames, viewsOf } from "./views";

/** Names, versions and texts of the licences of what is inside. */
declare const LICENCES: string[];

export interface ViewProps {
  part: Part;
  place: Place;
  /** Changes some keys of the place and keeps the others. */
  move: (change: Place) => void;
}

export interface View {
  id: string;
  title: string;
  show: ComponentType<ViewProps>;
}

export function App({ data }: { data: PageData }) {
  const place = usePlace();
  const theme = useTheme();
  const index = Math.min(Math.max(Number(place.part) || 0, 0), data.parts.length - 1);
  const part = data.parts[index];
  if (!part) return <p class="warning">The page has no results.</p>;
  const views = viewsOf(part);
  const view = views.find((one) => one.id === place.view) ?? views[0];
  const base: Place = data.parts.length > 1 ? { part: String(index) } : {};
  const Show = view.show;

  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header>
        {data.parts.length > 1 ? (
          <select
            aria-label="Result"
            value={String(index)}
            onChange={(event) => go({ part: event.currentTarget.value })}
          >
            {data.parts.map((one, i) => (
              <option value={String(i)}>{name(one.name.slice(one.name.lastIndexOf("/") + 1), 120)}</option>
            ))}
          </select>
        ) : (
          <span class="file">{name(data.title, 200)}</span>
        )}
        <span class="conditions">{conditionsOf(part)}</span>
        <nav aria-label="Views">
          {views.map((one) => (
            <a href={linkTo({ ...base, view: one.id })} aria-current={one === view ? "page" : undefined}>
              {one.title}
            </a>
          ))}
          <Finder what={layerNames(part).length > 0 ? "Find a layer" : "Find a view"} targets={() => targetsOf(part, views, base)} />
        </nav>
      </header>
      <main id="main" key={`${index}/${view.id}/${theme}`}>
        <Show part={part} place={place} move={(change) => go({ ...place, ...base, view: view.id, ...change })} />
      </main>
      <footer>
        {data.madeBy}. Device time is the sum of kernel durations; busy time is their union. FLOPs are 2 × MACs plus
        elementwise work (convention full). <ThemeButton />
        <details>
          <summary>Licences</summary>
          {LICENCES.map((licence) => (
            <pre>{licence}</pre>
          ))}
        </details>
      </footer>
    </>
  );
}

/** What the finder finds: the part's layers, then its views. */
function targetsOf(part: Part, views: View[], base: Place): Target[] {
  const layers = views.some((view) => view.id === "layers") ? "layers" : "graph";
  return [
    ...layerNames(part).map((path) => ({ title: path, kind: "layer", go: () => go({ ...base, view: layers, layer: path }) })),
    ...views.map((view) => ({ title: view.title, kind: "view", go: () => go({ ...base, view: view.id }) })),
  ];
}

/** "dark" or "light"; drawings take their colours from it, so that a change draws all of them again. */
function useTheme(): string {
  const [dark, setDark] = useState(isDark());
  useLayoutEffect(() => {
    const update = () => setDark(isDark());
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", update);
    window.addEventListener("pyrometer-theme", update);
    return () => {
      system.removeEventListener("change", update);
      window.removeEventListener("pyrometer-theme", update);
    };
  }, []);
  return dark ? "dark" : "light";
}

function ThemeButton() {
  const turn = () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    window.dispatchEvent(new Event("pyrometer-theme"));
  };
  return (
    <button type="button" onClick={turn}>
      Light or dark
    </button>
  );
}
