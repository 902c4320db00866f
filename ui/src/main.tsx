// Starts the page: a report brings its data along, else they come from the server that sent the page.
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import { App } from "./App";
import { inlinePage } from "./data/inline";
import "./design/base.css";
import "./design/style.css";
import { startTheme } from "./design/theme";
import { releaseFocus } from "./keyboard";
import { openLive, openReport, startFollowing } from "./state";

async function start(): Promise<void> {
  const root = document.getElementById("app")!;
  startTheme();
  releaseFocus();
  try {
    const content = await inlinePage();
    if (content) openReport(content);
    else await openLive();
    startFollowing();
  } catch (error) {
    const line = document.createElement("p");
    line.className = "loading fault";
    line.textContent = `The data cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    root.replaceChildren(line);
    return;
  }
  root.replaceChildren();
  render(<App />, root);
  requestAnimationFrame(() => performance.mark("first-view"));
}

void start();
