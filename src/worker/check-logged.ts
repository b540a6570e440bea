/**
 * What `run.log` takes: checked before it is sent, as the controller drops a worker whose message it cannot read.
 */
import { PreduceError } from '../base/errors.js';
import { LIMITS } from '../wire/limits.js';
import { quoted } from '../wire/quoted.js';

/** Throws `bad-option`. Numbers that are not finite are fine. */
export function checkLogged(values: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (name.length > LIMITS.keyCharsMax) {
      throw new PreduceError(
        'bad-option',
        `log: expected names of at most ${LIMITS.keyCharsMax} characters, got ${name.length}: ${quoted(name)}`,
      );
    }
    if (typeof value !== 'number') {
      throw new PreduceError('bad-option', `log: expected a number for ${quoted(name)}, got a ${typeof value}`);
    }
  }
}
