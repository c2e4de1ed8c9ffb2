// A drawing that keeps its size on a narrow screen and scrolls sideways there.
import type { ComponentChildren } from "preact";

export function Wide({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="sideways" tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}
