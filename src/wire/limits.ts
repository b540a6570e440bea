/**
 * Every limit of the protocol, by name. A peer that passes one is disconnected with a message that names it.
 */

/** Major numbers that differ are refused at join; minor ones are compatible. */
export const PROTOCOL_VERSION = { major: 1, minor: 1 } as const;

/** Heartbeats per liveness time-out, from which every other time-out derives. */
export const HEARTBEATS_PER_LIVENESS = 5;

export const LIMITS = {
  /** Longest control message, in bytes of UTF-8 (a layout of 10,000 tensors fits). */
  controlMessageBytesMax: 4 * 1024 * 1024,
  /** Workers of one run, and members of one group. */
  workersMax: 4096,
  /** Tensors in a layout. */
  tensorsMax: 65_536,
  /** Dimensions of one tensor. */
  dimensionsMax: 16,
  /** Values in a replica: 2^31 - 1 float32 values, 8 GiB. */
  parametersMax: 2 ** 31 - 1,
  /** Longest payload of one data frame, in bytes; a vector is sent in as many segments as it takes. */
  framePayloadBytesMax: 1024 * 1024,
  /** Payload of the segments that we send ourselves, in bytes. */
  segmentBytes: 1024 * 1024,
  /** Unclaimed payload bytes (for groups that this member has not heard of yet) per connection before it stops reading. */
  unclaimedBytesMax: 8 * 1024 * 1024,
  /** Control connections of a controller: its workers, its servers, an evaluator, and strangers. */
  controlConnectionsMax: 8192,
  /** Control connections that have not shown the token (or said `hello`, where there is none); one more costs the oldest its place. */
  unprovenConnectionsMax: 2048,
  /** The same of one address. */
  unprovenPerAddressMax: 512,
  /** Bytes that a control connection may send before it has shown the token. */
  unprovenBytesMax: 64 * 1024,
  /** Messages of one control connection that are read in a second; more have to wait. */
  controlMessagesPerSecondMax: 20_000,
  /** Bytes of one control connection that are read in a second. */
  controlBytesPerSecondMax: 16 * 1024 * 1024,
  /** Connections to a data port, whatever their state: two for each other worker, and transfers. */
  dataConnectionsMax: 16_384,
  /** Connections to a data port that have not proven the run key; one more costs the oldest of them its place. */
  unprovenDataConnectionsMax: 1024,
  /** Time for a data connection to prove the run key, at either end, in ms. */
  admissionMs: 10_000,
  /** Length of a name, reason or other free text in a control message. */
  textCharsMax: 4096,
  /** Length of a key in the run's configuration, and of the name of a logged value. */
  keyCharsMax: 256,
  /** Length of a host name or address (DNS allows 253). */
  hostCharsMax: 255,
  /** Length of a local socket's name. */
  socketCharsMax: 64,
  /** Greatest k and incarnation: data frames carry them in 32 bits. */
  uint32Max: 2 ** 32 - 1,
  /** Controller terms are below this, so that a group id is an integer that JSON and doubles hold exactly. */
  termsMax: 2 ** 21,
  /** Longest interval between heartbeats, in ms: timers take no more. */
  heartbeatMsMax: 2 ** 31 - 1,
} as const;
