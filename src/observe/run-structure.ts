/**
 * How a run went, beside its results: a window in detail, who met whom, how stale they were. Gathered from the events
 * in a compact form, while the run goes on or from its record, for the pictures of the report.
 */
import { createMeetings, type Meetings } from './meetings.js';
import type { RunEvent } from './run-events.js';
import { createStaleness, type Staleness } from './staleness.js';
import { createTimeline, type Timeline } from './timeline.js';

export interface RunStructure {
  /** Null where no worker did anything. */
  readonly timeline: Timeline | null;
  readonly meetings: Meetings;
  readonly staleness: Staleness;
}

export interface RunStructureBuilder {
  add(event: RunEvent): void;
  /** As far as the events go. */
  result(): RunStructure;
}

/** Creates a builder; feed it a run's events in order. Its memory does not grow with the length of the run. */
export function createRunStructure(): RunStructureBuilder {
  const timeline = createTimeline();
  const meetings = createMeetings();
  const staleness = createStaleness();
  return {
    add(event) {
      timeline.add(event);
      meetings.add(event);
      staleness.add(event);
    },
    result: () => ({ timeline: timeline.result(), meetings: meetings.result(), staleness: staleness.result() }),
  };
}
