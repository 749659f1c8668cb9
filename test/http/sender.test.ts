import { describe, expect, test } from 'vitest'
import type { IncomingRequest } from '../../src/http/incoming-request.ts'
import { rateLimiter } from '../../src/http/middleware/rate-limit.ts'
import { senderOf } from '../../src/http/sender.ts'
import { heapBytes } from '../support/heap.ts'

function from(forwarded: string | null, trustedProxies = 1, remoteAddress: string | null = '192.0.2.1'): string {
  const header = (name: string): string | null => (name === 'x-forwarded-for' ? forwarded : null)
  return senderOf({ remoteAddress, header } as IncomingRequest, trustedProxies)
}

describe('a sender', () => {
  test.each([
    ['of an IPv4 address', '10.0.0.1', ['10.0.0.1', '10.0.0.1:1', '10.0.0.1:65535', ' 10.0.0.1 ']],
    ['of an IPv4 address as IPv6 writes it', '10.0.0.1', ['::ffff:10.0.0.1', '::FFFF:a00:1', '[::ffff:10.0.0.1]:80']],
    [
      'of an IPv4 address behind a translator',
      '192.0.2.33',
      ['64:ff9b::192.0.2.33', '64:ff9b::c000:221', '[0064:FF9B:0:0:0:0:c000:0221]:443'],
    ],
    ['of an IPv4 address of zeros behind a translator', '0.0.2.33', ['64:ff9b::221', '64:ff9b::0.0.2.33']],
    [
      'of a network beside that of translators',
      '64:ff9b:1:0::/64',
      ['64:ff9b:1::c000:221', '64:ff9b:1:0:0:0:c000:221'],
    ],
    ['of the network of translators, but not of an IPv4 address', '64:ff9b:0:0::/64', ['64:ff9b::1:c000:221']],
    [
      'of a network of 64 bits',
      '2001:db8:1:2::/64',
      [
        '2001:db8:1:2::1',
        '2001:0DB8:0001:0002:ffff:0:0:1',
        '[2001:db8:1:2::3]',
        '[2001:db8:1:2:3:4:5:6]:443',
        '2001:db8:1:2::9%eth0',
        '2001:db8:1:2:0:0:10.0.0.1',
      ],
    ],
    [
      'of a network whose zeros are left out',
      '2001:db8:0:0::/64',
      ['2001:db8::1', '2001:db8:0:0:1::', '[2001:DB8::]:1'],
    ],
    ['of the loopback network', '0:0:0:0::/64', ['::1', '::', '::10.0.0.1']],
    [
      'that no address names',
      'unknown',
      [
        'unknown',
        '_hidden',
        '10.0.0',
        '10.0.0.256',
        '1::2::3',
        '[::1',
        '[10.0.0.1]:1',
        '1'.repeat(8_000),
        '10.0.0.1:port',
      ],
    ],
  ])('%s is one, however it is spelt', (_, sender, spellings) => {
    for (const spelling of spellings) expect([spelling, from(spelling)]).toEqual([spelling, sender])
  })

  test('of another network is another', () => {
    expect(from('2001:db8:1:3::1')).not.toBe(from('2001:db8:1:2::1'))
    expect(from('10.0.0.2')).not.toBe(from('10.0.0.1'))
  })

  test('is the address that the trusted number of proxies forward, otherwise the remote address of the socket', () => {
    const list = '10.0.0.1,10.0.0.2 , [2001:db8::1]:80'
    expect([0, 1, 2, 3, 4].map((proxies) => from(list, proxies))).toEqual([
      '192.0.2.1',
      '2001:db8:0:0::/64',
      '10.0.0.2',
      '10.0.0.1',
      '192.0.2.1',
    ])
    expect(['', ' , ', ',,'].map((empty) => from(empty))).toEqual(['192.0.2.1', '192.0.2.1', '192.0.2.1'])
    expect([from(null), from(null, 0, '::ffff:192.0.2.1'), from(null, 0, null)]).toEqual([
      '192.0.2.1',
      '192.0.2.1',
      'unknown',
    ])
  })
})

test('beyond the limit of counted senders, the least recently used one is forgotten', async () => {
  const count = rateLimiter({ requests: 1, seconds: 3_600 }, 2)
  const isRefused = async (sender: string): Promise<boolean> => (await count(sender)).refusal !== undefined
  expect([await isRefused('a'), await isRefused('b'), await isRefused('a')]).toEqual([false, false, true])
  expect([await isRefused('c'), await isRefused('a'), await isRefused('b')]).toEqual([false, true, false])
})

test('a counted sender does not retain the header that it is a substring of', () => {
  const before = heapBytes()
  const senders = Array.from({ length: 2_000 }, (_, number) => {
    const address = `203.100.${100 + (number >> 8)}.${100 + (number & 127)}`
    return from(Buffer.from(`${'10.0.0.1, '.repeat(1_500)}${address}`).toString('latin1'))
  })
  expect(senders[0]).toBe('203.100.100.100')
  expect(heapBytes() - before).toBeLessThan(5_000_000)
})
