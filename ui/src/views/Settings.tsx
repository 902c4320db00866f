// All settings of a run, the changed ones first, each with its help; how it was started and on which machine.
import { useState } from "preact/hooks";
import { Section } from "../parts/Figure";
import type { Run, Setting } from "../schema";

export function Settings({ run }: { run: Run }) {
  const [wanted, setWanted] = useState("");
  const [all, setAll] = useState(false);
  const changed = run.config.filter((setting) => setting.changed);
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (setting: Setting) => words.every((word) => `${setting.field} ${setting.help}`.toLowerCase().includes(word));
  const shown = words.length ? run.config.filter(matches) : all ? run.config : changed;
  if (!run.config.length && !run.command) return null;
  return (
    <Section title="Settings" note={changed.length ? `${changed.length} differ from the preset.` : "All as the preset has them."}>
      {run.command && <CommandLine command={run.command} />}
      <div class="toolbar">
        <label class="search">
          <span class="unseen">Search settings</span>
          <input type="search" placeholder="Search settings" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
        </label>
        <button type="button" class="plain" onClick={() => setAll(!all)} aria-pressed={all}>
          {all ? "Only what was changed" : `All ${run.config.length} settings`}
        </button>
      </div>
      {shown.length > 0 && (
        <div class="scroll">
          <table class="settings">
            <thead>
              <tr><th>setting</th><th>value</th><th>usual</th><th>meaning</th></tr>
            </thead>
            <tbody>
              {shown.map((setting) => (
                <tr key={setting.field} class={setting.changed ? "changed" : ""}>
                  <td><code>{setting.field}</code></td>
                  <td><b>{setting.value}</b></td>
                  <td>{setting.changed ? setting.usual : ""}</td>
                  <td>{setting.help}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {run.environment.length > 0 && (
        <details>
          <summary>Machine and versions</summary>
          <dl class="facts">
            {run.environment.map((fact) => (
              <div key={fact.name}><dt>{fact.name}</dt><dd>{fact.value}</dd></div>
            ))}
          </dl>
        </details>
      )}
    </Section>
  );
}

function CommandLine({ command }: { command: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () =>
    void navigator.clipboard?.writeText(command).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  return (
    <div class="command">
      <code>{command}</code>
      <button type="button" class="plain" onClick={copy}>{copied ? "Copied" : "Copy"}</button>
    </div>
  );
}
