import { defineConfig } from 'vite'

// Not 127.0.0.1: any program of the machine could answer there, so the sign-in page would always ask before it lets people in.
const at = { host: 'localhost', port: Number(process.env.PORT ?? 5174), strictPort: true }

export default defineConfig({ server: at, preview: at, build: { target: 'es2022' } })
