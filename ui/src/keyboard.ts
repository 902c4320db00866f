// Keys of the page: heard as soon as it shows, and after a click on a control too: whoever points with a mouse or finger does
// not need the focus there.
import { useLayoutEffect, useRef } from "preact/hooks";

/** Keys of the whole page, but where the focus is in `fields` or a modifier is held. Heard from before the first paint on, so that
 * none is lost that is pressed as soon as the page shows. */
export function useKeys(fields: string, pressed: (event: KeyboardEvent, target: HTMLElement) => void): void {
  const latest = useRef(pressed);
  latest.current = pressed;
  useLayoutEffect(() => {
    const keys = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest(fields)) return;
      latest.current(event, target);
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
}

const RELEASED = "button, summary, input[type=radio], input[type=checkbox], input[type=range]";

/** Takes the focus from controls that were used by pointer; those who move by keyboard keep it. */
export function releaseFocus(): void {
  let byPointer = false;
  addEventListener("pointerdown", () => (byPointer = true), true);
  addEventListener("keydown", () => (byPointer = false), true);
  const release = (also: string) => {
    if (!byPointer) return;
    // After the control has handled the event itself.
    setTimeout(() => {
      const focused = document.activeElement;
      if (focused instanceof HTMLElement && focused.matches(also)) focused.blur();
    });
  };
  addEventListener("click", () => release(RELEASED));
  addEventListener("change", () => release(`${RELEASED}, select`));
}
