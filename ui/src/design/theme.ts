// Light and dark: as the system says, unless the reader has chosen.
import { computed, effect, signal } from "@preact/signals";

export type Choice = "auto" | "light" | "dark";
const KEY = "somelab-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);

/** A page opened from disk may be denied storage; the choice then lasts as long as the page. */
function stored(): Choice {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto";
  }
}

export const choice = signal<Choice>(stored());
export const isDark = computed(() => (choice.value === "auto" ? systemIsDark.value : choice.value === "dark"));

export function startTheme(): void {
  system.addEventListener("change", () => {
    systemIsDark.value = system.matches;
  });
  effect(() => {
    document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
    try {
      localStorage.setItem(KEY, choice.value);
    } catch {
      return;
    }
  });
}

/** The value of a colour of the style sheet, for what is drawn on a canvas. */
export const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
