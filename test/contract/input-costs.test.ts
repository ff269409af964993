// What the worst input of a stranger costs grows with its size, not with the square of it: four times the input takes at most six
// times the processor time. `npm run bench -- parsers` measures the time at the largest size.
import { expect, test } from 'vitest'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { send, worstInputs } from '../support/worst-inputs.ts'

const rounds = 9
const service = serviceFixture({ AUTH_RATE_LIMIT_IP: 'off', AUTH_RATE_LIMIT_ACCOUNT: 'off', AUTH_TRUST_PROXY: '3' })
const app = appFixture(service, { allowed_redirect_urls: ['https://shop.example.com/*'] })

const inputs = worstInputs('').map(({ name }, index) => ({ name, index }))

test.each(inputs)('the cost grows with the size, not with its square, for $name', async ({ index }) => {
  const { largest, request } = worstInputs(app.code)[index]!
  const port = Number(new URL(service.url).port)
  const quarter: number[] = []
  const whole: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    quarter.push(await costOf(() => send(port, request(largest / 4))))
    whole.push(await costOf(() => send(port, request(largest))))
  }
  expect(median(whole) / median(quarter)).toBeLessThan(6)
})

/** The milliseconds of processor time that this process spends meanwhile. The service is part of it. */
async function costOf(deed: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await deed()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function median(times: number[]): number {
  return times.sort((a, b) => a - b)[(rounds - 1) / 2]!
}
