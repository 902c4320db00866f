// Generated from somelab.view by `python ui/schema.py`; a test holds it equal. Do not edit.

/** One way to train, over its random seeds. */
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
  /** Arm minus base, by measure, paired by seed, over the seeds that both have. */
  differences: Record<string, Interval>;
  /** The published figures, by name; at full size, whatever the size of this sweep. */
  published: Record<string, number>;
  runs: SweepRun[];
  /** `loss` of training, `val_loss`, `bits_per_byte` and `loss_with_padding`, over the runs that have any; where there is a published run also Gini and entropy of the middle layer's usage in training. */
  curves: Record<string, Band>;
  /** By the curve of ours that is measured alike; at full size, whatever the size of this sweep. */
  published_curves: Record<string, PublishedCurve>;
  /** null in a sweep that tunes nothing. */
  tuning: ArmTuning | null;
}

/** The result of the search for an arm's setting. */
export interface ArmTuning {
  /** The chosen value; empty before there is one. */
  chosen: string;
  /** tuned | at the edge | unfinished | failed. Only a tuned arm is compared at its best. */
  standing: string;
  /** Tuning runs, in whole runs. */
  num_runs: number;
  /** Why the search failed; empty where it did not. */
  problem: string;
}

export interface Balance {
  info: MeasureInfo[];
  lines: Record<string, Line>;
  /** From the steps of training: gini, entropy_bits, coverage, dead_share, respawns, gate_entropy, crowding, drift ... */
  training: Series;
  /** From validation: the same without respawns and drift, with combination_entropy_bits and num_combinations. */
  evaluation: Series;
  usage: LayerUsage[];
  /** The step of the snapshot that `usage` is from. */
  usage_step: number | null;
  /** Over what that usage was counted. */
  usage_counted: string;
}

/** A curve over several seeds: at each place their mean, the least and the most of them. */
export interface Band {
  tokens: number[];
  mean: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
}

/** A generation of experts that a learner has added. */
export interface Born {
  name: string;
  /** The number of the experience that was read then. */
  at_experience: number;
  /** How many tokens of it were read before. */
  at_token: number;
  parameters: number;
  bytes: number;
  /** The expert that it began as a copy of; `base`: new parts. */
  start_from: string;
}

export interface Curves {
  train: TrainCurve;
  evaluation: EvaluationCurve;
  timing: TimingCurve;
}

/** The data. */
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
  /** Of training, read by then. */
  tokens: number[];
  /** Of validation text, that each evaluation counted over; null if not recorded. */
  val_tokens: (number | null)[];
  val_loss: (number | null)[];
  val_ppl: (number | null)[];
  bits_per_byte: (number | null)[];
  /** Padding included, as in v1-v4 of the reports; null if not measured. Not comparable with val_ppl. */
  ppl_with_padding: (number | null)[];
}

/** One line of the environment, such as `torch 2.13.0`. */
export interface Fact {
  name: string;
  value: string;
}

/** The main figures of a run: of its whole validation text if it is finished, else of its last evaluation. */
export interface Final {
  step: number;
  tokens: number;
  train_loss: number | null;
  val_loss: number | null;
  val_ppl: number | null;
  bits_per_byte: number | null;
  ppl_with_padding: number | null;
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
  /** E here: the experts that are shown. */
  num_experts: number;
  /** Their numbers where they are a sample of a large pool, ascending; empty: all are shown. */
  experts: number[];
  /** The size of that pool. */
  pool: number | null;
  steps: number[];
  maps: KeyMap[];
  /** Map methods that are missing here. */
  left_out: LeftOut[];
  /** uint8 of shape F, E, log-quantised: use = expm1(value / 255 * log1p(usage_most)). */
  usage: Packed;
  usage_most: number;
  /** int32 of shape F, E: the step at which the key was last respawned. Age = steps[f] - born; a key was respawned in a frame where born is larger than in the frame before. */
  born: Packed;
  /** uint8 of shape F, E: length of the key, value / 255 * length_most. */
  length: Packed;
  length_most: number;
  /** Of each expert, -1 for none; empty if guilds are not known. */
  guild: number[];
  /** The class of at least half of the expert's `words`, null for none; empty if not known. */
  word_class: (string | null)[];
  /** uint16 of shape E, n <= 6: the nearest keys at the last frame, nearest first. */
  neighbours: Packed;
  /** The distinctive words of each expert, by count times log of lift; empty without text. */
  words: WordUse[][];
  /** At each frame the share of its whole path that the mean key has covered, from 0 to 1; respawns do not count. */
  way: number[];
}

/** Runs that are equal but for the random seed. */
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

/** Experts that were added to a trained run, trained on one text, and frozen. */
export interface GrownGeneration {
  name: string;
  /** What they were trained on. */
  text: string;
  num_experts: number;
  num_parameters: number;
  num_bytes: number;
  /** Tokens that they were trained on. */
  num_tokens: number;
  /** The expert that they began as a copy of; `base`: new parts. */
  start_from: string;
  /** Loss on the new text, in nats per token. */
  new_before: number | null;
  new_after: number | null;
  /** Loss on the text of the run itself. */
  old_before: number | null;
  old_after: number | null;
}

export interface Guild {
  id: number;
  /** The most used first. */
  experts: number[];
  /** Of the layer's selections. */
  share: number;
  words: WordUse[];
  /** Its most distinctive class (count times log of lift); null if its classes are distributed as in all tokens. */
  word_class: string | null;
  /** Share of each word class among its labelled tokens. */
  classes: Record<string, number>;
}

/** What has come since the last one. `restart`: the run was resumed from a checkpoint and must be read again. */
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

/** A mean over seeds with its 95 % interval; null for a single value. */
export interface Interval {
  mean: number | null;
  low: number | null;
  high: number | null;
  num: number;
  values: (number | null)[];
}

/** Places of all keys at all times in one projection. xy is int16 of shape F, E, 2; a place is xy * scale. */
export interface KeyMap {
  method: "pca" | "tsne" | "umap";
  xy: Packed;
  scale: number;
  /** How it was made, for the caption. */
  note: string;
  /** Share of the keys' variance in the plane, where the map is linear. */
  explained: number | null;
  /** At the last frame, the mean share of a key's 5 nearest keys that are among its 5 nearest on the map. */
  kept: number | null;
}

/** Groups of experts that are selected together in one layer. */
export interface LayerGuilds {
  layer: number;
  name: string | null;
  method: string;
  num_tokens: number;
  modularity: number;
  guilds: Guild[];
  /** The source of word classes: the built-in corpus itself, a tagger, the corpus' lexicon (partial), none. */
  labels: "builtin" | "tagger" | "lexicon" | "none";
  /** What that means for the numbers, or why there are none. */
  labels_note: string;
  /** Guild of the token's strongest expert against its word class. */
  guild_nmi: MutualInformation | null;
  /** The strongest expert itself against the word class. */
  expert_nmi: MutualInformation | null;
  /** uint8 of shape E, E, experts sorted by guild (see `pair_order`): co-activation as 255 * C_ij / sqrt(C_ii C_jj), 0 for experts selected for fewer than 10 tokens; null for more than 256 experts. */
  pair_matrix: Packed | null;
  pair_order: number[];
}

/** Usage of each expert at the last snapshot: the moving average of selections per step, and of gate mass. */
export interface LayerUsage {
  count: (number | null)[];
  mass: (number | null)[];
}

/** A missing part, and why. */
export interface LeftOut {
  name: string;
  reason: string;
}

/** A threshold beyond which a measure means collapse. */
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
  /** Over what the training record counts it. */
  training: string;
  /** Over what the last evaluation counted it; empty if evaluations do not measure it. */
  evaluation: string;
}

/** Normalised mutual information of a token's group and its word class, from 0 to 1, with its baselines. */
export interface MutualInformation {
  value: number;
  low: number;
  /** 95 % interval, from resampling whole documents. */
  high: number;
  shuffled_mean: number;
  shuffled_low: number;
  /** The same for labels that were permuted: 95 % of the permutations lie in between. */
  shuffled_high: number;
  /** Share of the permutations that reach the value: (1 + reached) / (1 + permutations). */
  p_value: number;
  by_word_mean: number;
  by_word_low: number;
  /** The harder baseline: classes permuted among words of like frequency, each word keeping its tokens together. A grouping by word forms alone reaches this much; only a higher value is evidence for classes. */
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

/** The whole page. */
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

/** The published figures of a preset, at full size: not directly comparable with a scaled run. */
export interface Published {
  preset: string;
  title: string;
  source: string;
  total_millions: number | null;
  trainable_millions: number | null;
  steps: number | null;
  /** Losses count padding; Gini and entropy are of the usage in training, padding included. */
  with_padding: boolean;
  epochs: PublishedEpoch[];
  final: Record<string, number>;
  note: string | null;
}

/** A figure of a published run, at the end of each epoch that a report gives. */
export interface PublishedCurve {
  /** Of the run that is over there. */
  share: number[];
  value: (number | null)[];
}

export interface PublishedEpoch {
  epoch: number;
  /** Of the run that is over at its end. */
  share: number;
  train_loss: number | null;
  val_loss: number | null;
  val_ppl: number | null;
  ppl_with_padding: number | null;
  gini: number | null;
  entropy_bits: number | null;
}

/** A column of a table of results. */
export interface ResultMeasure {
  name: string;
  title: string;
  /** Decimal places, for means and intervals. */
  digits: number;
  meaning: string;
  /** The name of the published figure that it can be compared with. */
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
  /** A short description. */
  about: string;
}

/** One run folder. Of a broken or foreign one only the first fields are filled. */
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
  /** By which record, and over what that was counted; empty if nothing was measured. */
  judged: string;
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
  /** null: not included; empty: there are none. */
  galaxies: Galaxy[] | null;
  traces: Trace[] | null;
  guilds: LayerGuilds[] | null;
  /** Parts that are not there, and why: words (the data file is gone), traces (no checkpoint) ... */
  left_out: LeftOut[];
  /** The published figures of its preset, drawn behind its own. */
  published: Published | null;
  /** The generations of experts that were added after training, oldest first. */
  growth: GrownGeneration[];
}

export interface RunList {
  format: number;
  made_by_version: string;
  runs: RunSummary[];
  results: ResultSummary[];
  /** Folders that were named but could not be searched, a line each. */
  unread: string[];
}

/** One line of the list of runs: from its journal alone. */
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
  /** Training loss over the run, thinned to a few dozen points. */
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
  /** The value in the preset at that scale, or the default if the preset is unknown. */
  usual: string;
  /** Whether the value differs from it. */
  changed: boolean;
}

/** The folder of a study of continual learning. Of one that cannot be read only the first fields are filled. */
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
  /** Average loss against the learning rate; null in a study that tunes nothing. */
  tuning: ValueChart | null;
  /** The learning rate of each base. */
  bases: Record<string, ArmTuning>;
}

/** One way to learn a stream, over its random seeds. */
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
  /** null in studies of earlier versions, and where nothing is trained by gradient. */
  learning_rate: number | null;
  /** null in a study that tunes nothing. */
  tuning: ArmTuning | null;
  /** Beyond those of the base. */
  parameters_added: number | null;
  /** What has to be stored after the stream beyond the base. */
  bytes_added: number | null;
  /** Of one run, mean over seeds. */
  cpu_seconds: number | null;
  /** Of a learner that grows, with the first seed. */
  generations: Born[];
  /** The experts at the end, the base first. */
  served_by: string[];
  /** Share of the tokens of each experience by expert, at the end, mean over seeds. */
  served: number[][];
}

/** The folder of a sweep. Of one that cannot be read only the first fields are filled. */
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
  /** Remarks on the figures. */
  remarks: string[];
  measures: ResultMeasure[];
  arms: Arm[];
  /** Loss against the tuned setting; null in a sweep that tunes nothing. */
  tuning: ValueChart | null;
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

/** A text, token by token, with the selected experts. */
export interface Trace {
  kind: "sample" | "validation" | "prompt";
  title: string;
  /** When the text was generated (for validation text: the checkpoint's step). */
  step: number;
  /** The checkpoint whose routing is shown: not the one that generated an older sample. */
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

/** A prompt to continue. Bounds keep one request from occupying the machine. */
export interface TraceRequest {
  prompt: string;
  max_new_tokens: number;
  temperature: number;
  seed: number;
}

export interface TraceResponse {
  text: string;
  trace: Trace;
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

/** Loss against the value of one setting, a line for each arm. */
export interface ValueChart {
  x_label: string;
  y_label: string;
  /** Whether x is drawn on a logarithmic axis: values are then factors apart. */
  log: boolean;
  /** The values in words, at x = 0, 1, 2 ...; empty where they are numbers. */
  labels: string[];
  lines: ValueLine[];
}

/** Loss against the value of a setting, for one arm. */
export interface ValueLine {
  name: string;
  /** By x. */
  points: ValuePoint[];
  /** The x of the chosen value; null before there is one. */
  chosen: number | null;
}

/** One value of a setting, as far as a run with it was trained. */
export interface ValuePoint {
  /** The value itself, or its place among the labels of the chart. */
  x: number;
  /** The last loss; null where the run diverged. */
  y: number | null;
  /** False for a run that was stopped early: its loss is not one of a whole run. */
  ended: boolean;
  /** A short note. */
  note: string;
}

/** A distinctive word of an expert or a guild. */
export interface WordUse {
  word: string;
  /** Tokens of that word that were routed to it. */
  count: number;
  /** How many times more often than chance. */
  lift: number;
  /** Its commonest class; null where labels are not known. */
  word_class: string | null;
}

export const FORMAT = 1;

/** What each measure means: a title, and a phrase. */
export const MEANINGS = {
  gini: { title: "Gini of usage", text: "inequality of usage: 0 if all experts are used equally, near 1 if one has all usage" },
  gini_mass: { title: "Gini of gate mass", text: "the same, by gate mass" },
  entropy_bits: { title: "Entropy of usage", text: "spread of usage over the experts; at most log2 E" },
  entropy_bits_mass: { title: "Entropy of gate mass", text: "the same, by gate mass" },
  effective_experts: { title: "Effective experts", text: "how many equally used experts would have this entropy" },
  coverage: { title: "Coverage", text: "experts that were selected at least once" },
  dead_share: { title: "Dead share", text: "share of the experts that were never selected" },
  respawns: { title: "Respawns", text: "keys that were respawned" },
  gate_entropy: { title: "Gate entropy", text: "how evenly a token's gates weight its K experts; at most ln K" },
  crowding: { title: "Crowding", text: "mean cosine of each key to its K-1 nearest; near 1 they have fused" },
  combination_entropy_bits: { title: "Combination entropy", text: "spread over the distinct sets of K experts in use; log2(E/K) if experts act in fixed groups" },
  num_combinations: { title: "Combinations", text: "distinct sets of K experts in use" },
  drift: { title: "Drift", text: "mean distance that a key moves in a step" },
  drift_max: { title: "Largest drift", text: "distance of the key that moves most" },
  key_norm_min: { title: "Shortest key", text: "length of the shortest key" },
  key_norm_mean: { title: "Mean key length", text: "mean length of the keys" },
  nmi: { title: "NMI", text: "normalised mutual information of a token's guild and its word class: 0 if the guild tells nothing about the class, 1 if it tells the class" },
  modularity: { title: "Modularity", text: "how much more often experts are selected with members of their own guild than by chance: 0 for chance, towards 1 for separate guilds" },
  lift: { title: "Lift", text: "how many times more often than chance a word's tokens are routed there" },
} as const;
