import { render } from "preact";
import { App } from "./app";
import { readPage } from "./data/container";
import "uplot/dist/uPlot.min.css";
import "./style.css";

async function start(): Promise<void> {
  const root = document.getElementById("app")!;
  try {
    const data = await readPage(document.getElementById("pyrometer-data")!.textContent ?? "");
    root.textContent = "";
    render(<App data={data} />, root);
  } catch (error) {
    root.textContent = "";
    const text = document.createElement("p");
    text.className = "warning";
    text.setAttribute("role", "alert");
    text.textContent = `This page cannot show its data: ${error instanceof Error ? error.message : error}`;
    root.append(text);
  }
}

void start();
