// Starts the playground: no data to read, everything is in its address.
import { render } from "preact";
import "../design/base.css";
import { startTheme } from "../design/theme";
import { releaseFocus } from "../keyboard";
import { startAddress, startClock } from "./engine.ts";
import { Playground } from "./Playground";
import "./playground.css";

const root = document.getElementById("app")!;
startTheme();
releaseFocus();
startAddress();
root.replaceChildren();
render(<Playground />, root);
startClock();
