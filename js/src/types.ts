/** How a reply ended, by the finish reason of its provider. `unknown` is always safe. */
export type Ending = "unknown" | "stopped" | "cut" | "aborted";

/** Where a reply begins: `outside` every block, `inside` the first reasoning block, … */
export type Start = "outside" | "inside" | "auto" | `inside:${string}`;

/** What a byte of a reply is. */
export type Channel = "text" | "reasoning" | "narration" | "tool" | "aside" | "markup";

export interface Options {
  /** The name of the model, as a provider or a registry spells it: `qwen3:8b`. */
  model?: string;
  /** The name of a dialect that comes with Sotto, or a dialect of your own. It counts more than `model`. */
  dialect?: string | Dialect;
  /** Where the reply begins; the dialect says so if this is left out. */
  start?: Start;
  /** Channels that are part of the text, for programs with no other place for them. */
  inline?: ("narration" | "tool")[];
  /** The longest text that is held in doubt, in bytes; negative for no bound. */
  maxHold?: number;
  /** The names of the tools that the model may call, as the request declares them. */
  tools?: string[];
}

/** A remark on the reading of a reply. */
export interface Diagnostic {
  code: string;
  /** Where the marker is that the remark is about, in bytes of the reply as UTF-8. */
  offset: number;
  reason?: string;
}

/** A part of what a stream gives. */
export type Delta =
  | { type: "text"; text: string }
  | { type: "reasoning"; block: number; text: string }
  /** A block of reasoning is over; `closed` is false if the reply ended in it. */
  | { type: "reasoning-end"; block: number; closed: boolean }
  | { type: "narration"; block: number; text: string }
  | { type: "tool"; block: number; text: string }
  /** The last part of a reply. `moreDiagnostics` counts those that are not listed. */
  | { type: "end"; end: Ending; diagnostics: Diagnostic[]; moreDiagnostics: number };

/** A longest run of the reply on one channel. */
export interface Segment {
  channel: Channel;
  /** Bytes of the reply as UTF-8; the end is not part of it. */
  start: number;
  end: number;
  /** The same places in UTF-16 units, for `slice` of a JavaScript string. */
  from: number;
  to: number;
}

/** The reading of a whole reply. */
export interface Reply {
  /** What the user sees. */
  visible: string;
  /** The thoughts, one text per block. */
  reasoning: string[];
  narration: string[];
  segments: Segment[];
  diagnostics: Diagnostic[];
  moreDiagnostics: number;
  dialect: string;
  start: Start;
}

/** A marker of a dialect: a tag, or a pair of literal strings. */
export interface Marker {
  role: "reasoning" | "narration" | "tool" | "output" | "wrapper";
  tag?: string;
  name?: string;
  family?: string;
  open?: string[];
  close?: string[];
  special?: boolean;
  phrase?: boolean;
  rescue?: boolean;
}

/** A grammar of channels that headers name, as in Harmony. */
export interface Header {
  begin: string[];
  body: string[];
  lead?: string[];
  end?: string[];
  close?: string[];
  name?: string[];
  tokens?: string[];
  channels: Record<string, string>;
  recipients?: Record<string, string>;
  between?: string;
  max_header?: number;
}

/**
 * A dialect says how a family of models marks its thoughts. The keys are those of a dialect
 * file; keys that are for people, such as `title`, are ignored.
 */
export interface Dialect {
  name: string;
  markers?: Marker[];
  header?: Header;
  pre_opens?: "no" | "yes" | "prompt";
  placement?: "anywhere" | "leading";
  start?: string;
  output?: "leading" | "anywhere";
  close?: "own" | "family";
  on_doubt?: "withhold" | "deliver";
  after_tool?: "reasoning" | "text";
  code?: boolean;
  stray?: boolean;
  once?: boolean;
  max_marker?: number;
  max_hold?: number;
}

/** An API whose requests hold earlier replies. */
export type HistoryApi = "chat" | "responses" | "messages" | "ollama" | "gemini" | "cohere" | "bedrock";
