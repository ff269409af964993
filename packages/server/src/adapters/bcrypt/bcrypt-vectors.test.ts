import { describe, expect, test } from 'vitest'
import { BcryptScheme } from '../bcrypt-scheme.ts'
import { formatBcrypt, parseBcrypt } from './bcrypt-text.ts'
import { LaneEngine } from './engines.ts'
import { laneCount } from './lane-program.ts'
import { Lanes } from './lanes.ts'

const lanes = new Lanes(laneCount)

interface Known {
  hash: string
  password: Uint8Array
}

/** Hashes these bytes with the salt, cost and version of an existing hash. */
function hashLike(hash: string, password: Uint8Array): string | undefined {
  return hashAlike([{ hash, password }])[0]
}

/** Like `hashLike`, for several at once, each in a separate lane. */
function hashAlike(known: readonly Known[]): (string | undefined)[] {
  const made: string[] = []
  for (const [index, { hash, password }] of known.entries()) {
    const { salt, cost } = parseBcrypt(hash)
    const done = (digest: Uint8Array) => {
      made[index] = hash.slice(0, 4) + formatBcrypt({ salt, cost, digest }).slice(4)
    }
    lanes.start({ password, salt, cost, costAtLeast: cost, done })
  }
  while (lanes.taken > 0) lanes.step()
  return made
}

const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0))

const digitsAndLetters = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const letters = 'abcdefghijklmnopqrstuvwxyz'

// The vectors of crypt_blowfish, except $2x$ and its special treatment of 0xff under $2a$, then those of jBCrypt.
test.each([
  ['$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW', 'U*U'],
  ['$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK', 'U*U*'],
  ['$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a', 'U*U*U'],
  ['$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy', ''],
  ['$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui', `${digitsAndLetters}chars after 72 are ignored`],
  ['$2b$05$/OK.fbVrR/bpIqNJ5ianF.CE5elHaaO4EbggVDjb8P19RukzXSM3e', '\xff\xff\xa3'],
  ['$2y$05$/OK.fbVrR/bpIqNJ5ianF.CE5elHaaO4EbggVDjb8P19RukzXSM3e', '\xff\xff\xa3'],
  ['$2a$05$/OK.fbVrR/bpIqNJ5ianF.Sa7shbm4.OzKpvFnX1pQLmQW96oUlCq', '\xa3'],
  ['$2b$05$/OK.fbVrR/bpIqNJ5ianF.Sa7shbm4.OzKpvFnX1pQLmQW96oUlCq', '\xa3'],
  ['$2y$05$/OK.fbVrR/bpIqNJ5ianF.Sa7shbm4.OzKpvFnX1pQLmQW96oUlCq', '\xa3'],
  ['$2y$05$/OK.fbVrR/bpIqNJ5ianF.nRht2l/HRhr6zmCp9vYUvvsqynflf9e', '\xff\xa3345'],
  ['$2y$05$/OK.fbVrR/bpIqNJ5ianF.o./n25XVfn6oAPaUvHe.Csk4zRfsYPi', '\xff\xa334\xff\xff\xff\xa3345'],
  ['$2a$05$/OK.fbVrR/bpIqNJ5ianF.swQOIzjOiJ9GHEPuhEkvqrUyvWhEMx6', `${'\xaa'.repeat(72)}chars after 72 are ignored as usual`],
  ['$2a$05$/OK.fbVrR/bpIqNJ5ianF.R9xrDjiycxMbQE2bp.vgqlYpW5wx2yy', '\xaa\x55'.repeat(36)],
  ['$2a$05$/OK.fbVrR/bpIqNJ5ianF.9tQZzcJfm3uj2NvJ/n5xkhpqLrMpWCe', '\x55\xaa\xff'.repeat(24)],
  ['$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s.', ''],
  ['$2a$08$HqWuK6/Ng6sg9gQzbLrgb.Tl.ZHfXLhvt/SgVyWhQqgqcZ7ZuUtye', ''],
  ['$2a$10$k1wbIrmNyFAPwPVPSVa/zecw2BCEnBwVS2GbrmgzxFUOqW9dk4TCW', ''],
  ['$2a$12$k42ZFHFWqBp3vWli.nIn8uYyIkbvYRvodzbfbK18SSsY.CsIQPlxO', ''],
  ['$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe', 'a'],
  ['$2a$08$cfcvVd2aQ8CMvoMpP2EBfeodLEkkFJ9umNEfPD18.hUF62qqlC/V.', 'a'],
  ['$2a$10$WvvTPHKwdBJ3uk0Z37EMR.hLA2W6N9AEBhEgrAOljy2Ae5MtaSIUi', 'abc'],
  ['$2a$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q', 'abc'],
  ['$2a$06$.rCVZVOThsIa97pEDOxvGuRRgzG64bvtJ0938xuqzv18d3ZpQhstC', letters],
  ['$2a$08$aTsUwsyowQuzRrDqFflhgekJ8d9/7Z3GV3UcgvzQW3J5zMyrTvlz.', letters],
  ['$2a$06$fPIsBO8qRqkjj273rfaOI.HtSV9jLDpTbZn782DC6/t7qT67P6FfO', '~!@#$%^&*()      ~!@#$%^&*()PNBFRD'],
])('we reproduce the published vector %s', (hash, password) => {
  expect(hashLike(hash, latin1(password))).toBe(hash)
})

// Made by libxcrypt, confirmed by Python's bcrypt. The password is up to 72 consecutive byte values from this one on.
test.each([
  [1, '$2b$04$IysqFKWpRdkX80xelu0wVe3cuBBJCLkZ.Wph1OOFmNJ0r8Mh0SJWm'],
  [73, '$2b$04$7.ErNxnb9yKxWwDA0wJBMOKUzbOiYnhPIcJZWpzSAVuNExz1VUAsy'],
  [145, '$2b$04$n9AJZzoGDNkO/WhNzaTb6.kKVWPirnDRpIaYjfXhwr856MYNE6lDi'],
  [217, '$2b$04$GOclRMX290mmr4Omsuo8hO.kyCfs1vAt2QK1qEwAcwWpP6f6mN.EO'],
] as const)('we reproduce the hash of the byte values from %i on', (first, hash) => {
  const values = Uint8Array.from({ length: Math.min(72, 256 - first) }, (_, index) => first + index)
  expect(hashLike(hash, values)).toBe(hash)
})

describe('hashes of other implementations', () => {
  const passwords = ['', 'correct horse battery staple', 'Grüße, 世界 😀', 'a'.repeat(72)]
  const scheme = new BcryptScheme(new LaneEngine(lanes))

  // By `hashSync(password, cost)` of the packages, `password_hash($password, PASSWORD_BCRYPT)`, `bcrypt.hashpw` and Perl's
  // `crypt`.
  const makers = [
    [
      'bcryptjs 3.0.3',
      [
        '$2b$04$pXDzgroYDGAGkFeVch6yR.opUCDplcYt0IGBo9Ccu16AWdtiSxjJy',
        '$2b$05$TcsrYwbps7DIi15G4osfGujJiA9s0iIIUaJbd/AZW/8vEE5gdcyCu',
        '$2b$06$enJAFStaXGLUQMCnpnxTBOdO9xMBW6qp67GjXds5mKrhFU3.0IFqO',
        '$2b$07$PGYHHK7zeR/somXp2ETvN.An.I07ZiP9rcP7sl7QXLwZZutX6JfNW',
      ],
    ],
    [
      'bcrypt 6.0.0 (native)',
      [
        '$2b$04$yH820goQo7H7hH/14WzXBe9JdGnhIm1wds7rPhn1fZ1GdOhbxt1WW',
        '$2b$05$OqgymM0sJ05aicHNpl1Tze5i7VgXlFxF3AbMeHKVjG/lvjo1tUNcW',
        '$2b$06$QgcXdS9oZObEzBVlKpRLx.T25xCeQNsX8plv6U2McjVlmNRW8Hbl6',
        '$2b$07$mv0vJVNy9VZmZMp86PRdwOr0zJxBhiV9SzPBZiKij8wpkD74slH9S',
      ],
    ],
    [
      '@node-rs/bcrypt 2.0.0',
      [
        '$2b$04$42qclY9zLC9JqXnkH1GoiO8OWRczrOCZEtv3PmVfxvx6dqeWKhI.W',
        '$2b$05$GzoEGLLfIa9mlUVUhSWaNOL.JFrYum12gyrkjHlb4yYr7kRIP6fFC',
        '$2b$06$.3/KKLcCQSBoEEZP7NKZZuM9.9cGTG4w8GYPpu1qVESt19myWglve',
        '$2b$07$PIAlXdNukCVSP8GOSK3z/OATr77xv3aE8IOdXk8vxctDo477tZgqq',
      ],
    ],
    [
      'PHP 8.2 password_hash',
      [
        '$2y$04$gHm.MvW8yYGE9miG/b9dOek0npPxLKqM2lHFJe.gn57JylpbdesbW',
        '$2y$05$U.LAwy7STzAl8ZaZaTyrPebROIzVbq7zXXuS24z.oYBnVSt7Qzw.u',
        '$2y$06$wQbG5MHHTtfGDywCN0U6k.PczY8U1lXpa0U2k5ofZIiC3aVquIyqS',
        '$2y$07$/uGg2iy87baZ5uDQuppzIerYirTRxH6nl/f2H8eJ23Yv1V/w8Op0.',
      ],
    ],
    [
      'Python bcrypt 5.0',
      [
        '$2b$04$6OkZEHNudjKJBrFYr.jGv.p4IMjlpgPtQGsTA4tUkJtQRWwqIQAd2',
        '$2b$05$OOCCkLlTwPM0qFpJtuWFW.XF96fxMvcJeq2r9uGvNONKCrcnOCbMK',
        '$2b$06$lM8.y7opl6z5cCKkVfPnxen8nBtuWwzs2lTKf8pcYOquKv7Te5niG',
        '$2b$07$RUcdKNo4W6tDMktejN9WI.Wj0Hz4PZbcv1774JDb.ITgo8KRe0qyW',
      ],
    ],
    [
      'libxcrypt crypt(3)',
      [
        '$2a$04$l7T85ZTlDKxI.5YOJx8sbOeljilIRu8wp2aT5Zby.V3dXuazUI1Ny',
        '$2a$05$n.sNMzRBbnpcaaejKfy7DuIBAOTDySsaCjSH1oUGjamZqv.hmvA5.',
        '$2a$06$E7pt.J8J2gqrPoMnvabktOHq8qglPdwRpydxKNQ7.CyBVZo5F4z0m',
        '$2a$07$PZcKixnTFV4GmunqlSLw/epgeHzT.huDi73VpudKS/VP4x0uCU8P2',
      ],
    ],
  ] as const

  test.each(makers)('the hashes of %s match their passwords and no others', async (_, hashes) => {
    for (const [index, hash] of hashes.entries()) {
      for (const [other, password] of passwords.entries()) {
        const { matches } = await scheme.verify(hash, password, 4)
        expect([hash, password, matches]).toEqual([hash, password, other === index])
      }
    }
  })

  // This also shows that each of them verifies our hashes.
  test.each(makers)('we reproduce the hashes of %s from their salts, with any number of lanes at work', (_, hashes) => {
    const known = hashes.map((hash, index) => ({ hash, password: new TextEncoder().encode(passwords[index]) }))
    for (let count = 1; count <= laneCount; count += 1) {
      for (let first = 0; first < known.length; first += count) {
        const jobs = Array.from({ length: count }, (_, index) => known[(first + index) % known.length]!)
        expect(hashAlike(jobs)).toEqual(jobs.map(({ hash }) => hash))
      }
    }
  })
})
