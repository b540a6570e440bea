/**
 * The run's token, which never stands on a command line (other users of the machine can read those).
 */
import { readFile } from 'node:fs/promises';
import { messageOf, PreduceError } from '../base/errors.js';

/** The token in `file`, without surrounding white space; null where no file is named. Throws `bad-option`. */
export async function readToken(file: string | undefined): Promise<string | null> {
  if (file === undefined) return null;
  let token: string;
  try {
    token = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new PreduceError('bad-option', `--token-file: expected a readable file, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
  if (token === '')
    throw new PreduceError('bad-option', `--token-file: expected a token in ${file}, got an empty file`);
  return token;
}
