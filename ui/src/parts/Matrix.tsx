// A small table whose numbers are also colours: for those who see the pattern first, and those who hear the cells.
import { css, type Rgb } from "../design/colours";
import { fixed, type Value } from "../format";

interface MatrixProps {
  caption: string;
  /** What rows and columns are. */
  corner: string;
  rows: readonly string[];
  columns: readonly string[];
  values: readonly (readonly Value[])[];
  digits: number;
  ramp: (value: number) => Rgb;
  /** Cells that stand out, such as what has just been learned. */
  marked?: (row: number, column: number) => boolean;
  faint?: (row: number, column: number) => boolean;
  markedNote?: string;
  sign?: boolean;
  /** The word between column and row in the hint of a cell. */
  between?: string;
}

/** Black or white, whichever has more contrast: they are level at a relative luminance of 0.18. */
function inkOn(colour: Rgb): string {
  const [r, g, b] = colour.map((value) => (value / 255) ** 2.2) as unknown as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#10151f" : "#ffffff";
}

export function Matrix({ caption, corner, rows, columns, values, digits, ramp, marked, faint, markedNote, sign = false, between = "after" }: MatrixProps) {
  const text = (value: number) => (sign && value > 0 ? `+${fixed(value, digits)}` : fixed(value, digits).replace(/^-/, "−"));
  return (
    <div class="scroll">
      <table class="matrix" style={{ minWidth: `${92 + 50 * columns.length}px` }}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr><th scope="col" class="corner">{corner}</th>{columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((name, row) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {columns.map((column, at) => {
                const value = values[row]?.[at];
                if (value == null) return <td key={column} class="void">·</td>;
                const colour = ramp(value);
                const stands = marked?.(row, at) ?? false;
                return (
                  <td key={column} class={`${stands ? "marked" : ""} ${faint?.(row, at) ? "faint" : ""}`} style={{ background: css(colour), color: inkOn(colour) }} title={`${column} ${between} ${name}: ${text(value)}${stands && markedNote ? `, ${markedNote}` : ""}`}>
                    {text(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
