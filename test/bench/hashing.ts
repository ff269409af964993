// Measures bcrypt without a service: hashes of cost 10 per second of processor time, with 1 to 8 lanes, next
// to bcryptjs and native code. First with one thread, then with one per core, which may share caches. The
// number of lanes is chosen by these figures.
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { Lanes } from '../../packages/server/src/adapters/bcrypt/lanes.ts'
import { record } from './support/results.ts'
import { installPeers, median } from './support/server-under-test.ts'

const COST = 10
const ROUNDS = 7
const MOST_LANES = 8
const PASSWORD = 'correct horse battery staple'

/** One way to compute hashes: how many it computes at once, and the call that does it. */
type Maker = [hashes: number, make: () => void]

if (isMainThread) await compare()
else measure()

async function compare(): Promise<void> {
  installPeers()
  for (const threads of [...new Set([1, availableParallelism()])]) {
    const measured = await Promise.all(Array.from({ length: threads }, runThread))
    const rateOf = (name: string) => median(measured.map((rates) => rates[name]!))
    const where = threads === 1 ? 'one thread' : `${threads} threads`
    for (const name of Object.keys(measured[0]!)) {
      const figure = { what: `${name}, ${where}`, ours: rateOf(name), unit: 'hashes a CPU-second', better: 'higher' } as const
      if (name.includes('lane')) record({ ...figure, beside: 'bcrypt, native', peer: rateOf('bcrypt, native') })
      else record(figure)
    }
  }
}

/** Hashes per second of processor time on one thread, by maker. */
function runThread(): Promise<Record<string, number>> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url))
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

/** Runs all makers in turns and takes the median of the rounds, without the first, in which code is still being compiled. */
function measure(): void {
  const makers = listMakers()
  const rates = new Map(Object.keys(makers).map((name): [string, number[]] => [name, []]))
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, [hashes, make]] of Object.entries(makers)) {
      const before = process.threadCpuUsage()
      make()
      const { user, system } = process.threadCpuUsage(before)
      if (round > 0) rates.get(name)!.push((hashes * 1_000_000) / (user + system))
    }
  }
  parentPort!.postMessage(Object.fromEntries([...rates].map(([name, measured]) => [name, median(measured)])))
}

function listMakers(): Record<string, Maker> {
  const fromPeers = createRequire(new URL('./peers/package.json', import.meta.url))
  const [bcryptjs, native, rust] = ['bcryptjs', 'bcrypt', '@node-rs/bcrypt'].map((name) => fromPeers(name))
  const lanes = new Lanes(MOST_LANES)
  return {
    bcryptjs: [1, () => bcryptjs.hashSync(PASSWORD, COST)],
    'bcrypt, native': [1, () => native.hashSync(PASSWORD, COST)],
    '@node-rs/bcrypt': [1, () => rust.hashSync(PASSWORD, { cost: COST })],
    ...Object.fromEntries(
      Array.from({ length: MOST_LANES }, (_, index) => index + 1).map((count): [string, Maker] => [
        `${count} ${count === 1 ? 'lane' : 'lanes'}`,
        [count, () => fillLanes(lanes, count)],
      ]),
    ),
  }
}

function fillLanes(lanes: Lanes, count: number): void {
  const job = { password: new TextEncoder().encode(PASSWORD), salt: new Uint8Array(16), cost: COST, costAtLeast: COST, done() {} }
  for (let lane = 0; lane < count; lane += 1) lanes.start(job)
  while (lanes.taken > 0) lanes.step()
}
