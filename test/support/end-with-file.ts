// A setup file, run anew for each test file, though modules are shared by all files of a worker.
import { afterAll } from 'vitest'
import { endFile } from './on-file-end.ts'

afterAll(endFile)
