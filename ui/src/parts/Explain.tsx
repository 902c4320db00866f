// A term with a question mark behind it, which opens what the term means.
import { useState } from "preact/hooks";
import { stopped } from "../format";
import { MEANINGS } from "../schema";

export type Term = keyof typeof MEANINGS;

/** The question mark and, once asked, the explanation; `more` is added to it. */
export function Explain({ term, more = "" }: { term: Term; more?: string }) {
  const [isOpen, setOpen] = useState(false);
  const { title, text } = MEANINGS[term];
  const whole = `${stopped(text)}${more ? ` ${more}` : ""}`;
  return (
    <>
      <button type="button" class="ask" aria-expanded={isOpen} aria-label={`What is ${title}?`} title={whole} onClick={() => setOpen(!isOpen)}>?</button>
      {isOpen && <span class="explained" role="note">{whole}</span>}
    </>
  );
}
