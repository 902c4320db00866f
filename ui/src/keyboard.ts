// Keys of the page work after a click on a control: whoever points with a mouse or finger does not need the focus there.

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
