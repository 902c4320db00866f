// Generated from somelab.view by `python ui/schema.py`; a test holds it equal. Do not edit.

/** One way to train, over its seeds. */
export interface Arm {
  name: string;
  title: string;
  /** The arm that it is compared with. */
  base: string | null;
  preset: string | null;
  /** d_model, num_layers, num_experts, d_ffn, top_k. */
  sizes: Record<string, number>;
  /** Those that finished. */
  seeds: number[];
  /** By measure; `values` in the order of `seeds`. */
  figures: Record<string, Interval>;
  /** Arm minus base, by measure, seed by seed, over the seeds that both have. */
  differences: Record<string, Interval>;
  /** The seeds' own figures, by their names; of the full size, whatever size this sweep has. */
  published: Record<string, number>;
  runs: SweepRun[];
  /** `loss` of training, `val_loss` and `bits_per_byte`, over the runs that have any. */
  curves: Record<string, Band>;
}

export interface Balance {
  info: MeasureInfo[];
  lines: Record<string, Line>;
  /** From the steps of training: gini, entropy_bits, coverage, dead_share, respawns, gate_entropy, crowding, drift ... */
  training: Series;
  /** From validation: the same without respawns and drift, with combination_entropy_bits and num_combinations. */
  evaluation: Series;
  usage: LayerUsage[];
}

/** A curve over several seeds: at each place their mean, the least and the most of them. */
export interface Band {
  tokens: number[];
  mean: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
}

export interface Curves {
  train: TrainCurve;
  evaluation: EvaluationCurve;
  timing: TimingCurve;
}

/** What was read. */
export interface Data {
  source: string;
  digest: string;
  vocab_size: number;
  train_documents: number;
  train_tokens: number;
  train_bytes: number;
  val_documents: number;
  val_tokens: number;
  val_bytes: number;
}

/** Validation over time. The last point is the whole validation text where the run is finished, the others a part of it. */
export interface EvaluationCurve {
  step: number[];
  tokens: number[];
  val_loss: (number | null)[];
  val_ppl: (number | null)[];
  bits_per_byte: (number | null)[];
  /** Padding counted, as v1-v4 of the seeds did; null where it was not measured. To be labelled, never mixed with val_ppl. */
  seed_ppl: (number | null)[];
}

/** One line of the environment, such as `torch 2.13.0`. */
export interface Fact {
  name: string;
  value: string;
}

/** The figures by which a run is known: of its whole validation text if it is finished, else of its last evaluation. */
export interface Final {
  step: number;
  tokens: number;
  train_loss: number | null;
  val_loss: number | null;
  val_ppl: number | null;
  bits_per_byte: number | null;
  seed_ppl: number | null;
  best_val_loss: number | null;
  tokens_per_second: number | null;
  /** Mean over the layers, as all below. */
  gini: number | null;
  entropy_bits: number | null;
  crowding: number | null;
  combination_entropy_bits: number | null;
  gate_entropy: number | null;
}

/** The keys of one layer over training. */
export interface Galaxy {
  layer: number;
  /** Lexicon, Mind's Eye, Storyteller: the first, middle and last layer. */
  name: string | null;
  num_experts: number;
  steps: number[];
  maps: KeyMap[];
  /** Map methods that are missing here. */
  left_out: LeftOut[];
  /** uint8 of shape F, E, log-quantised: use = expm1(value / 255 * log1p(usage_most)). */
  usage: Packed;
  usage_most: number;
  /** int32 of shape F, E: the step at which the key was born. Age = steps[f] - born; it was reborn in a frame where born is larger than in the frame before. */
  born: Packed;
  /** uint8 of shape F, E: length of the key, value / 255 * length_most. */
  length: Packed;
  length_most: number;
  /** Of each expert, -1 for none; empty where guilds are not known. */
  guild: number[];
  /** The class that sets the expert apart most, null for none; empty where not known. */
  word_class: (string | null)[];
  /** uint16 of shape E, n <= 6: the nearest keys at the last frame, nearest first. */
  neighbours: Packed;
  /** Of each expert what sets it apart, by count times log of lift; empty where the text was not read. */
  words: WordUse[][];
  /** At each frame the share of its whole way that the mean key has covered, from 0 to 1; rebirths are no way. */
  way: number[];
}

/** Runs that are equal but for the seed. */
export interface Group {
  id: string;
  name: string;
  run_ids: string[];
  seeds: number[];
  preset: string | null;
  scale: string | null;
  /** By the names of `Final`: of the finished runs, a seed counted once. Where none is finished, of all as they stand, without intervals. */
  figures: Record<string, Interval>;
}

export interface Guild {
  id: number;
  /** The most used first. */
  experts: number[];
  /** Of the layer's choices. */
  share: number;
  words: WordUse[];
  /** The class that sets it apart most (count times log of lift); null where it meets all classes about as often as everyone. */
  word_class: string | null;
  /** Share of each word class among its labelled tokens. */
  classes: Record<string, number>;
}

/** What has come since the last one. `restart`: the run went back to a checkpoint, so that it is to be read anew. */
export interface Increment {
  kind: "increment" | "restart";
  status: "running" | "finished" | "stopped" | "foreign" | "broken";
  curves: Curves;
  training: Series;
  evaluation: Series;
  warnings: TrainingWarning[];
  /** Steps of key snapshots that are new: galaxies can be fetched again. */
  new_snapshots: number[];
  new_samples: number;
}

/** A mean over seeds with its 95 % interval; null where one value says nothing about spread. */
export interface Interval {
  mean: number | null;
  low: number | null;
  high: number | null;
  num: number;
  values: (number | null)[];
}

/** Places of all keys at all times in one common frame. xy is int16 of shape F, E, 2; a place is xy * scale. */
export interface KeyMap {
  method: "pca" | "tsne" | "umap";
  xy: Packed;
  scale: number;
  /** How it was made, for the caption. */
  note: string;
}

/** Groups of experts that work together in one layer. */
export interface LayerGuilds {
  layer: number;
  name: string | null;
  method: string;
  num_tokens: number;
  modularity: number;
  guilds: Guild[];
  /** Where word classes are from: the built-in corpus itself, a tagger, the corpus' lexicon (partial), none. */
  labels: "builtin" | "tagger" | "lexicon" | "none";
  /** What that means for the numbers, or why there are none. */
  labels_note: string;
  /** Guild of the token's strongest expert against its word class. */
  guild_nmi: MutualInformation | null;
  /** The strongest expert itself against the word class. */
  expert_nmi: MutualInformation | null;
  /** uint8 of shape E, E, experts sorted by guild (see `pair_order`): co-activation as 255 * C_ij / sqrt(C_ii C_jj), 0 for experts that read fewer than 10 tokens; null for more than 256 experts. */
  pair_matrix: Packed | null;
  pair_order: number[];
}

/** Use of each expert at the last snapshot: the moving average of choices per step, and of gate mass. */
export interface LayerUsage {
  count: (number | null)[];
  mass: (number | null)[];
}

/** Something that is not there, and why. */
export interface LeftOut {
  name: string;
  reason: string;
}

/** Beyond it, a measure means collapse. */
export interface Line {
  value: number;
  /** The bad side. */
  side: "above" | "below";
  sentence: string;
}

/** What a measure is, for its axis and its tooltip. */
export interface MeasureInfo {
  name: string;
  title: string;
  unit: string;
  help: string;
  least: number | null;
  /** Bounds of what it can be in this run; null where there is none. */
  most: number | null;
}

/** Normalised mutual information of a token's group and its word class, from 0 to 1, beside what chance gives. */
export interface MutualInformation {
  value: number;
  low: number;
  /** 95 % interval, from resampling whole documents. */
  high: number;
  shuffled_mean: number;
  shuffled_low: number;
  /** The same for labels that were permuted: 95 % of the permutations lie in between. */
  shuffled_high: number;
  /** Share of the permutations that reach the value, itself counted: (1 + reached) / (1 + permutations). */
  p_value: number;
  by_word_mean: number;
  by_word_low: number;
  /** The harder baseline: classes permuted among words of like frequency, each word keeping its tokens together. A grouping that follows word forms but knows nothing of classes reaches this much; only what lies above speaks of classes. */
  by_word_high: number;
  by_word_p_value: number;
  num_permutations: number;
  num_tokens: number;
  num_documents: number;
}

/** A large array: base64 of its little-endian values, the last axis fastest. */
export interface Packed {
  dtype: "uint8" | "uint16" | "int16" | "int32" | "float32";
  shape: number[];
  data: string;
}

/** All that a report shows. */
export interface Page {
  format: number;
  made_by_version: string;
  made_at: string;
  title: string;
  runs: Run[];
  groups: Group[];
  /** Of the presets that occur among the runs. */
  published: Published[];
  sweeps: Sweep[];
  studies: Study[];
}

export interface Parameters {
  total: number;
  trainable: number;
  frozen: number;
  active: number;
  bytes: number;
  flops_per_token: number;
}

/** Every error of the server: one line. */
export interface Problem {
  error: string;
}

/** What the seeds give for a preset. Their size is the full one: beside a scaled run the figures orient, they do not compare. */
export interface Published {
  preset: string;
  title: string;
  source: string;
  total_millions: number | null;
  trainable_millions: number | null;
  steps: number | null;
  epochs: PublishedEpoch[];
  final: Record<string, number>;
  note: string | null;
}

export interface PublishedEpoch {
  epoch: number;
  train_loss: number | null;
  val_loss: number | null;
  val_ppl: number | null;
  seed_ppl: number | null;
  gini: number | null;
  entropy_bits: number | null;
}

/** A column of a table of results. */
export interface ResultMeasure {
  name: string;
  title: string;
  /** Behind the point, for means and intervals alike. */
  digits: number;
  meaning: string;
  /** The name of the seeds' own figure that it may be held against. */
  published: string | null;
}

/** One line of the list: a sweep, or a study of continual learning. */
export interface ResultSummary {
  id: string;
  kind: "sweep" | "continual";
  name: string;
  path: string;
  /** One line: why there is nothing to open, such as a sweep that has not ended. */
  problem: string | null;
  /** What it is, in some words. */
  about: string;
}

/** One run folder. Of a broken or foreign one only the first fields say anything. */
export interface Run {
  /** Unique in the page; safe in an address. */
  id: string;
  name: string;
  path: string;
  status: "running" | "finished" | "stopped" | "foreign" | "broken";
  /** One line: what is wrong with the folder. */
  problem: string | null;
  /** One sentence: which failure it is, or that it is healthy. */
  verdict: string;
  /** Every failure of the last evaluation, a sentence each. */
  findings: string[];
  preset: string | null;
  scale: string | null;
  seed: number | null;
  /** some, moe, dense, frozen_dense or none. */
  feed_forward: string | null;
  /** Blocks of the decoder. */
  num_layers: number;
  num_experts: number;
  top_k: number;
  /** Of the whole run where that is known. */
  num_steps: number | null;
  /** Names of the first, middle and last layer, by layer. */
  layer_names: (string | null)[];
  config: Setting[];
  data: Data | null;
  parameters: Parameters | null;
  environment: Fact[];
  command: string;
  started: string | null;
  final: Final | null;
  curves: Curves;
  warnings: TrainingWarning[];
  /** null where nothing is routed by keys. */
  balance: Balance | null;
  /** null: not part of this answer; empty: there are none. */
  galaxies: Galaxy[] | null;
  traces: Trace[] | null;
  guilds: LayerGuilds[] | null;
  /** Parts that are not there, and why: words (the data file is gone), traces (no checkpoint) ... */
  left_out: LeftOut[];
}

export interface RunList {
  format: number;
  made_by_version: string;
  runs: RunSummary[];
  results: ResultSummary[];
  /** Folders that were named but could not be searched, a line each. */
  unread: string[];
}

/** One line of the list of runs: what can be told without reading more than its journal. */
export interface RunSummary {
  id: string;
  name: string;
  path: string;
  status: "running" | "finished" | "stopped" | "foreign" | "broken";
  problem: string | null;
  preset: string | null;
  scale: string | null;
  seed: number | null;
  /** The data. */
  source: string | null;
  feed_forward: string | null;
  num_layers: number;
  num_experts: number;
  parameters_total: number | null;
  parameters_trainable: number | null;
  started: string | null;
  step: number;
  num_steps: number | null;
  train_loss: number | null;
  /** Of the latest evaluation. */
  val_ppl: number | null;
  bits_per_byte: number | null;
  num_warnings: number;
  /** Training loss over the run, thinned to some dozens of points. */
  sparkline: (number | null)[];
}

/** Measures over time: measures[name][layer][time]. */
export interface Series {
  steps: number[];
  measures: Record<string, ((number | null)[])[]>;
}

/** One setting of the run's configuration. */
export interface Setting {
  /** Dotted name. */
  field: string;
  value: string;
  help: string;
  /** What the preset at that scale says, or the default where the preset is not known. */
  usual: string;
  /** Whether the value is not the usual one. */
  changed: boolean;
}

/** The folder of a study of continual learning. Of one that cannot be read only the first fields say anything. */
export interface Study {
  id: string;
  name: string;
  path: string;
  problem: string | null;
  scale: string | null;
  unit: string;
  experiences: string[];
  /** What the rows of every matrix come after: the base, or an experience. */
  rows: string[];
  tokens_per_experience: number;
  /** The experiences of the stream itself: with a base, all but the first. Each takes up `tokens_per_experience`. */
  learned: string[];
  measures: ResultMeasure[];
  learners: StudyLearner[];
}

/** One way to learn a stream, over its seeds. */
export interface StudyLearner {
  name: string;
  about: string;
  /** Parameters that a gradient moves. */
  num_trainable: number;
  seeds: number[];
  figures: Record<string, Interval>;
  /** R[i][j], mean over seeds: loss on experience j after row i. */
  matrix: number[][];
  /** Loss of each stretch of the stream before it was learned from; a place is the middle of its stretch. */
  online: Band;
}

/** The folder of a sweep. Of one that cannot be read only the first fields say anything. */
export interface Sweep {
  id: string;
  name: string;
  path: string;
  /** One line: why there is nothing more. */
  problem: string | null;
  title: string;
  scale: string;
  seeds: number[];
  /** What was set for all arms. */
  settings: Record<string, string>;
  /** What a reader has to know beside the figures. */
  remarks: string[];
  measures: ResultMeasure[];
  arms: Arm[];
}

/** One arm with one seed. */
export interface SweepRun {
  seed: number;
  /** Its run on this page or server; null where its folder is gone or was never made. */
  run_id: string | null;
  /** One line, where it failed. */
  failure: string | null;
}

export interface TimingCurve {
  thinned: number;
  step: number[];
  tokens_per_second: (number | null)[];
}

/** A text, token by token, with the experts that read it. */
export interface Trace {
  kind: "sample" | "validation" | "prompt";
  title: string;
  /** When the text was generated (for validation text: the checkpoint's step). */
  step: number;
  /** The checkpoint whose experts are shown: not the one that wrote an older sample. */
  read_at_step: number;
  num_prompt_tokens: number;
  /** Each token's text. A token that is part of a character shows as U+FFFD. */
  tokens: string[];
  /** Of each token, where labels are known. */
  word_class: (string | null)[];
  /** The layers in `experts` and `gates`: all that route. */
  layers: number[];
  /** [layer][token][K], strongest first. */
  experts: number[][][];
  gates: number[][][];
}

export interface TraceAnswer {
  text: string;
  trace: Trace;
}

/** A prompt to continue. Bounds keep one request from occupying the machine. */
export interface TraceRequest {
  prompt: string;
  max_new_tokens: number;
  temperature: number;
  seed: number;
}

/** Loss of the training batches. Long runs are thinned: a point is then the mean of `thinned` records. */
export interface TrainCurve {
  thinned: number;
  step: number[];
  tokens: number[];
  loss: (number | null)[];
  learning_rate: (number | null)[];
  grad_norm: (number | null)[];
}

/** A failure that training noticed, at the step it was first seen. */
export interface TrainingWarning {
  step: number;
  kind: string;
  layer: number | null;
  sentence: string;
}

/** A word that an expert or a guild answers to. */
export interface WordUse {
  word: string;
  /** Tokens of that word that it read. */
  count: number;
  /** How many times more often than chance. */
  lift: number;
}

export const FORMAT = 1;
