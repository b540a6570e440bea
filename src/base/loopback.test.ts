import { expect, it } from 'vitest';
import { isLoopback } from './loopback.js';

it.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.1.2.3', '::1', '[::1]', '::ffff:127.0.0.1'])(
  '%s is this machine',
  (host) => expect(isLoopback(host)).toBe(true),
);

it.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '127.example.com',
  '127.0.0.1.example.com',
  'localhost.example.com',
  '',
  '128.0.0.1',
])('"%s" may be elsewhere', (host) => expect(isLoopback(host)).toBe(false));
