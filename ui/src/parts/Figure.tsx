// The frame of every chart: a title that names it, a line that says what to read in it, and the chart.
import type { ComponentChildren } from "preact";

interface FigureProps {
  title: string;
  reading?: ComponentChildren;
  aside?: ComponentChildren;
  wide?: boolean;
  children: ComponentChildren;
}

export function Figure({ title, reading, aside, wide = false, children }: FigureProps) {
  return (
    <figure class={wide ? "figure wide" : "figure"}>
      <figcaption>
        <div class="figure-head">
          <h3>{title}</h3>
          {aside}
        </div>
        {reading && <p>{reading}</p>}
      </figcaption>
      {children}
    </figure>
  );
}

export function Section({ title, children, note }: { title: string; note?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="section">
      <h2>{title}</h2>
      {note && <p class="note">{note}</p>}
      {children}
    </section>
  );
}

/** What stands where something is missing: the reason, never an empty space. */
export function Missing({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="missing">
      <h3>{title}</h3>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Waiting({ what }: { what: string }) {
  return (
    <div class="missing" role="status">
      <span class="spinner" aria-hidden="true" />
      <p>{what}</p>
    </div>
  );
}

/** The sentence on top of a view. */
export function Lead({ eyebrow, note, children }: { eyebrow?: ComponentChildren; note?: string | undefined; children: ComponentChildren }) {
  return (
    <header class="lead">
      {eyebrow && <p class="eyebrow">{eyebrow}</p>}
      <h1 class="lead-sentence" data-testid="lead">
        {children}
      </h1>
      {note && <p class="judged">{note}</p>}
    </header>
  );
}
