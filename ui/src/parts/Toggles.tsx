// Things of a chart that can be switched on and off, each with its colour and its name.
interface TogglesProps {
  label: string;
  entries: readonly { name: string; colour: string; hint?: string }[];
  /** The names that are off. */
  off: ReadonlySet<string>;
  onChange: (off: ReadonlySet<string>) => void;
}

export function Toggles({ label, entries, off, onChange }: TogglesProps) {
  const toggle = (name: string) => onChange(off.has(name) ? new Set([...off].filter((other) => other !== name)) : new Set([...off, name]));
  return (
    <p class="chips toggles" role="group" aria-label={label}>
      {entries.map(({ name, colour, hint }) => (
        <button key={name} type="button" class="chip" aria-pressed={!off.has(name)} title={hint} onClick={() => toggle(name)}>
          <i style={{ background: off.has(name) ? "transparent" : colour, boxShadow: `inset 0 0 0 1.5px ${colour}` }} />
          {name}
        </button>
      ))}
      {entries.length > 2 && (
        <button type="button" class="link" onClick={() => onChange(off.size ? new Set() : new Set(entries.slice(1).map((entry) => entry.name)))}>
          {off.size ? "all" : "one alone"}
        </button>
      )}
    </p>
  );
}
