// A setup file: vitest runs it again for each test file, although the files of a worker share their modules.
import { afterAll } from 'vitest'
import { endFile } from './on-file-end.ts'

afterAll(endFile)
