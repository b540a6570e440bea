/**
 * Certificates of a lab, as Node's own reader and a handshake see them.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Certificates, createCertificates } from './certificates.js';

const DAY_MS = 24 * 60 * 60 * 1000;

let made: Certificates;
let authority: X509Certificate;
let certificate: X509Certificate;

beforeAll(async () => {
  made = await createCertificates({ hosts: ['10.0.0.1', 'node-1.lab', '127.0.0.1', 'fd00::1'], days: 10 });
  authority = new X509Certificate(made.authority.certificate);
  certificate = new X509Certificate(made.certificate.certificate);
});

describe('createCertificates', () => {
  it('makes an authority that vouches for itself and for the certificate', () => {
    expect(authority.ca).toBe(true);
    expect(authority.verify(authority.publicKey)).toBe(true);
    expect(certificate.ca).toBe(false);
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect(certificate.checkIssued(authority)).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(false);
  });

  it('names the hosts, and loopback once', () => {
    const names = certificate.subjectAltName?.split(', ').toSorted();
    expect(names).toEqual(
      [
        'IP Address:10.0.0.1',
        'DNS:node-1.lab',
        'IP Address:127.0.0.1',
        'IP Address:FD00:0:0:0:0:0:0:1',
        'DNS:localhost',
        'IP Address:0:0:0:0:0:0:0:1',
      ].toSorted(),
    );
    expect(certificate.checkHost('node-1.lab')).toBe('node-1.lab');
    expect(certificate.checkIP('10.0.0.1')).toBe('10.0.0.1');
    expect(certificate.checkIP('10.0.0.2')).toBeUndefined();
  });

  it('gives each its key', () => {
    expect(authority.checkPrivateKey(createPrivateKey(made.authority.key))).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(made.certificate.key))).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(made.authority.key))).toBe(false);
  });

  it('is valid for the days asked for, and a day before for clocks that are behind', () => {
    for (const { validFrom, validTo } of [authority, certificate]) {
      expect(Date.parse(validTo) - Date.parse(validFrom)).toBe(11 * DAY_MS);
    }
  });

  it('never gives a number twice', async () => {
    const others = await createCertificates({ hosts: [], days: 1 });
    const serials = [made, others].flatMap((each) => [each.authority.certificate, each.certificate.certificate]);
    expect(new Set(serials.map((pem) => new X509Certificate(pem).serialNumber)).size).toBe(4);
  });

  it.each(['', 'a b', 'http://node-1', 'node-1:29400', '-node', 'a..b', `${'a'.repeat(64)}.lab`, 'ä.lab'])(
    'refuses the host "%s"',
    async (host) => {
      await expect(createCertificates({ hosts: [host], days: 1 })).rejects.toMatchObject({ code: 'bad-option' });
    },
  );
});
