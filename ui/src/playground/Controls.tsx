// Sliders for the rules, the router and the world. Each names the rule as the settings of somelab do.
import { Choice } from "../parts/Choice";
import { change, settings } from "./engine.ts";
import { MORE, positionOf, ROUTER, RULES, valueAt, WORLD, type Slider } from "./settings.ts";

const NORMS = [
  { value: "unit", text: "all to 1", hint: "unit (v1 to v5): every key to length 1 after each step; undoes decay" },
  { value: "unit_used", text: "used to 1", hint: "unit_used (v6): only keys that were selected in this step" },
  { value: "clamp", text: "≤ 1", hint: "clamp (v7): only keys longer than 1" },
  { value: "none", text: "none", hint: "none: keys stay as long as the rules left them" },
] as const;
const BY = [
  { value: "all", text: "all K" },
  { value: "winner", text: "the best" },
  { value: "gate", text: "by gate" },
] as const;
const INERTIA = [
  { value: "min", text: "the lesser use", hint: "min (v1 to v4): a pair moves as easily as its less used key" },
  { value: "max", text: "the larger use", hint: "max (v5 on): a pair moves as slowly as its more used key" },
] as const;

export function Controls() {
  return (
    <div class="panel">
      <fieldset>
        <legend>Rules</legend>
        {RULES.map((slider) => <Range key={slider.name} slider={slider} />)}
        <Choice label="Length of keys" options={NORMS} value={settings.value.norm} onChange={(norm) => change({ norm })} />
      </fieldset>
      <fieldset>
        <legend>Router</legend>
        {ROUTER.map((slider) => <Range key={slider.name} slider={slider} />)}
      </fieldset>
      <fieldset>
        <legend>Queries</legend>
        {WORLD.map((slider) => <Range key={slider.name} slider={slider} />)}
      </fieldset>
      <details open={matchMedia("(min-width: 1180px)").matches}>
        <summary>More rules</summary>
        {MORE.map((slider) => <Range key={slider.name} slider={slider} />)}
        <Choice label="Attraction counts" options={BY} value={settings.value.attraction_by} onChange={(attraction_by) => change({ attraction_by })} />
        <Choice label="Inertia of a pair" options={INERTIA} value={settings.value.inertia} onChange={(inertia) => change({ inertia })} />
      </details>
    </div>
  );
}

function Range({ slider }: { slider: Slider }) {
  const value = settings.value[slider.name] ?? 0;
  const isWhole = slider.scale === "whole";
  const isOff = slider.scale === "rate" && slider.name !== "temperature" && value === 0;
  const text = isOff ? "off" : String(Number(value.toPrecision(3)));
  // K cannot exceed the number of experts, and a temperature of 0 divides by 0.
  const most = slider.name === "top_k" ? Math.min(slider.most, settings.value.num_experts) : slider.most;
  const bounded = { ...slider, most };
  return (
    <label class={isOff ? "range-row off" : "range-row"} title={slider.hint}>
      <span>{slider.label}</span>
      <b>{text}</b>
      <input
        type="range" name={slider.name} aria-valuetext={text} data-testid={slider.name}
        {...(isWhole ? { min: slider.least, max: most, step: 1, value } : { min: slider.name === "temperature" ? 0.02 : 0, max: 1, step: 0.01, value: positionOf(bounded, value) })}
        onInput={(event) => {
          const at = Number(event.currentTarget.value);
          change({ [slider.name]: isWhole ? at : valueAt(bounded, at) });
        }}
      />
    </label>
  );
}
