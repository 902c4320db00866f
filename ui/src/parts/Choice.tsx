// One of a few: a row of buttons that behaves as radio buttons do, arrow keys included.
import { useId } from "preact/hooks";

interface ChoiceProps<T extends string> {
  label: string;
  options: readonly { value: T; text: string; hint?: string | undefined; disabled?: boolean }[];
  value: T;
  onChange: (value: T) => void;
  hideLabel?: boolean;
}

export function Choice<T extends string>({ label, options, value, onChange, hideLabel = false }: ChoiceProps<T>) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend class={hideLabel ? "unseen" : ""}>{label}</legend>
      <div class="choice-row">
        {options.map((option) => (
          <label key={option.value} class={option.value === value ? "on" : ""} title={option.hint}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              disabled={option.disabled ?? false}
              onChange={() => onChange(option.value)}
            />
            <span>{option.text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface SelectProps {
  label: string;
  options: readonly { value: string; text: string }[];
  value: string;
  onChange: (value: string) => void;
  hideLabel?: boolean;
}

export function Select({ label, options, value, onChange, hideLabel = false }: SelectProps) {
  return (
    <label class="select">
      <span class={hideLabel ? "unseen" : ""}>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}
