/**
 * Whole runs by many settings take minutes. `npm test` plays the settings that differ most, `npm run test:all` (and CI)
 * every one.
 */
const isThorough = process.env['THOROUGH_TESTS'] === 'yes';

/** The cases to play: all of them where tests are thorough, else the first `few`. Put first what tells most. */
export function someOf<T>(few: number, cases: readonly T[]): readonly T[] {
  return isThorough ? cases : cases.slice(0, few);
}
