/**
 * Files of certificates and keys that cannot be meant: one clear line each.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCertificates } from '../security/certificates.js';
import { readAuthority, readTlsIdentity } from './pem-files.js';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'preduce-pem-'));
  const [made, expired] = await Promise.all([
    createCertificates({ hosts: [], days: 1 }),
    createCertificates({ hosts: [], days: -0.5 }),
  ]);
  const files = {
    'cert.pem': made.certificate.certificate,
    'key.pem': made.certificate.key,
    'ca.pem': made.authority.certificate,
    'ca-key.pem': made.authority.key,
    'expired.pem': expired.certificate.certificate,
    'expired-key.pem': expired.certificate.key,
    'noise.pem': 'neither certificate nor key',
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(directory, name), text)));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

function fileOf(name: string): string {
  return join(directory, name);
}

describe('readTlsIdentity', () => {
  it('reads a certificate and its key, or nothing', async () => {
    expect(await readTlsIdentity({})).toBeNull();
    const identity = await readTlsIdentity({ tlsCert: fileOf('cert.pem'), tlsKey: fileOf('key.pem') });
    expect(identity?.certificate).toMatch(/^-----BEGIN CERTIFICATE-----/);
    expect(identity?.key).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  });

  it.each([
    [{ tlsCert: 'cert.pem' }, /^--tls-cert: expected a --tls-key beside it/],
    [{ tlsKey: 'key.pem' }, /^--tls-key: expected a --tls-cert beside it/],
    [{ tlsCert: 'none.pem', tlsKey: 'key.pem' }, /^--tls-cert: expected a readable file/],
    [{ tlsCert: 'cert.pem', tlsKey: 'none.pem' }, /^--tls-key: expected a readable file/],
    [{ tlsCert: 'noise.pem', tlsKey: 'key.pem' }, /^--tls-cert: expected a certificate in PEM/],
    [{ tlsCert: 'key.pem', tlsKey: 'key.pem' }, /^--tls-cert: expected a certificate in PEM/],
    [{ tlsCert: 'cert.pem', tlsKey: 'noise.pem' }, /^--tls-key: expected a private key in PEM/],
    [{ tlsCert: 'cert.pem', tlsKey: 'ca-key.pem' }, /^--tls-key: expected the key of .*, got that of another/],
    [{ tlsCert: 'expired.pem', tlsKey: 'expired-key.pem' }, /^--tls-cert: expected a certificate that is valid/],
  ])('refuses %j', async (names: { tlsCert?: string; tlsKey?: string }, message) => {
    const files = Object.fromEntries(Object.entries(names).map(([flag, name]) => [flag, fileOf(name)]));
    await expect(readTlsIdentity(files)).rejects.toMatchObject({
      code: 'bad-option',
      message: expect.stringMatching(message) as string,
    });
  });
});

describe('readAuthority', () => {
  it('reads a certificate, or nothing', async () => {
    expect(await readAuthority(undefined)).toBeNull();
    expect(await readAuthority(fileOf('ca.pem'))).toMatch(/^-----BEGIN CERTIFICATE-----/);
  });

  it.each(['none.pem', 'noise.pem', 'key.pem'])('refuses %s', async (name) => {
    await expect(readAuthority(fileOf(name))).rejects.toMatchObject({
      code: 'bad-option',
      message: expect.stringMatching(/^--tls-ca: /) as string,
    });
  });
});
