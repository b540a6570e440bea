/**
 * Addresses that never leave this machine.
 */

/** Whether `host`, a name, an IP address, or an IPv6 address in brackets as URLs have it, means this machine's loopback. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}
