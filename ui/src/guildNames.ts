// Names for guilds: what they respond to, in a few words.
import { visible } from "./format";
import type { Guild } from "./schema";

const WORDS = 2;

/** "noun: garden, cake"; "garden, cake" where classes are unknown or mixed; "guild 3" where no word stands out. */
export function guildName(guild: Guild, words = WORDS): string {
  const listed = guild.words.slice(0, words).map((use) => quoted(visible(use.word.trim())));
  if (!listed.length) return `guild ${guild.id}`;
  const name = classOfWords(guild.words);
  return `${name ? `${name.replaceAll("_", " ")}: ` : ""}${listed.join(", ")}`;
}

/** A comma between commas could not be told apart. */
const quoted = (word: string): string => (/[\p{L}\p{N}]/u.test(word) ? word : `“${word}”`);

/** The class of at least half of the words, so that it can be read off their list. */
export function classOfWords(words: Guild["words"]): string | null {
  const counts = new Map<string, number>();
  for (const { word_class: name } of words) if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
  const [first] = [...counts].sort((a, b) => b[1] - a[1]);
  return first && 2 * first[1] >= words.length ? first[0] : null;
}
