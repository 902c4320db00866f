// A prompt for the model that is on the server: it is continued, and comes back with the experts of each token.
import { useState } from "preact/hooks";
import { askTrace } from "../data/live";
import type { Run, Trace } from "../schema";

export function Prompt({ run, onTrace }: { run: Run; onTrace: (trace: Trace) => void }) {
  const [prompt, setPrompt] = useState("Once upon a time");
  const [tokens, setTokens] = useState(48);
  const [temperature, setTemperature] = useState(0.8);
  const [seed, setSeed] = useState(0);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFault(null);
    try {
      onTrace((await askTrace(run.id, { prompt, max_new_tokens: tokens, temperature, seed })).trace);
      setSeed(seed + 1);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="prompt" onSubmit={(event) => void send(event)}>
      <label>
        <span>Prompt</span>
        <textarea rows={2} maxLength={4000} required value={prompt} onInput={(event) => setPrompt(event.currentTarget.value)} data-testid="prompt" />
      </label>
      <div class="prompt-row">
        <label><span>New tokens</span><input type="number" min={1} max={256} value={tokens} onInput={(event) => setTokens(Number(event.currentTarget.value))} /></label>
        <label><span>Temperature</span><input type="number" min={0} max={10} step={0.1} value={temperature} onInput={(event) => setTemperature(Number(event.currentTarget.value))} /></label>
        <label><span>Seed</span><input type="number" min={0} value={seed} onInput={(event) => setSeed(Number(event.currentTarget.value))} /></label>
        <button type="submit" class="primary" disabled={isBusy} data-testid="ask">{isBusy ? "Reading …" : "Continue it"}</button>
      </div>
      {fault && <p class="fault" role="alert">{fault}</p>}
    </form>
  );
}
