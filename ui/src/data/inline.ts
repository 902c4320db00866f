// The data of a report file: gzipped JSON inside the page itself.
import { FORMAT, type Page } from "../schema";
import { bytesOf } from "./packed";

/** The page's data, or null where the page comes from a live server. */
export async function inlinePage(): Promise<Page | null> {
  const text = document.getElementById("data")?.textContent?.trim();
  if (!text) return null;
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const page = (await new Response(stream).json()) as Page;
  if (page.format !== FORMAT) throw new Error(`the data have format ${page.format}, this page reads ${FORMAT}: make the report again`);
  return page;
}
