import { describe, expect, it } from 'vitest';
import { createTimeline } from './timeline.js';

describe('createTimeline', () => {
  it('acts in the order of the moments, and of asking at the same moment', () => {
    const timeline = createTimeline();
    const seen: string[] = [];
    const note = (name: string) => (): void => void seen.push(`${name} ${timeline.nowMs}`);
    timeline.at(5, note('c'));
    timeline.at(1, note('a'));
    timeline.at(5, note('d'));
    timeline.at(1, () => {
      note('b')();
      timeline.after(4, note('e'));
    });
    while (timeline.nextMs !== null) timeline.runNext();
    expect(seen).toEqual(['a 1', 'b 1', 'c 5', 'd 5', 'e 5']);
  });

  it('refuses the past, leaps and an empty future', () => {
    const timeline = createTimeline();
    timeline.at(3, () => undefined);
    expect(() => timeline.advanceTo(4)).toThrow('4 ms is not the next moment');
    timeline.runNext();
    expect(() => timeline.at(2, () => undefined)).toThrow('lies before now');
    expect(() => timeline.at(Number.NaN, () => undefined)).toThrow('lies before now');
    expect(() => timeline.runNext()).toThrow('nothing is left to happen');
    timeline.advanceTo(9);
    expect(timeline.nowMs).toBe(9);
  });
});
