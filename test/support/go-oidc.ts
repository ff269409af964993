// go-oidc, an OpenID Connect client for Go, from Debian packages that are unpacked for the test.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { unpackFromDebian } from './debian-packages.ts'

const program = `package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"

	oidc "github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	lines := bufio.NewReader(os.Stdin)
	var shown map[string]string
	first, err := lines.ReadString('\\n')
	must(err)
	must(json.Unmarshal([]byte(first), &shown))
	provider, err := oidc.NewProvider(ctx, shown["issuer"])
	must(err)
	config := oauth2.Config{ClientID: shown["client_id"], ClientSecret: shown["client_secret"], RedirectURL: shown["redirect_uri"],
		Endpoint: provider.Endpoint(), Scopes: strings.Split(shown["scope"], " ")}
	fmt.Println(config.AuthCodeURL("a state", oidc.Nonce("a nonce")))
	second, err := lines.ReadString('\\n')
	must(err)
	at, err := url.Parse(strings.TrimSpace(second))
	must(err)
	if at.Query().Get("state") != "a state" {
		panic("another state")
	}
	token, err := config.Exchange(ctx, at.Query().Get("code"))
	must(err)
	raw, _ := token.Extra("id_token").(string)
	idToken, err := provider.Verifier(&oidc.Config{ClientID: shown["client_id"]}).Verify(ctx, raw)
	must(err)
	if idToken.Nonce != "a nonce" {
		panic("another nonce")
	}
	must(idToken.VerifyAccessToken(token.AccessToken))
	told, err := provider.UserInfo(ctx, config.TokenSource(ctx, token))
	must(err)
	answer, err := json.Marshal(map[string]string{"subject": idToken.Subject, "told": told.Subject, "email": told.Email})
	must(err)
	fmt.Println(string(answer))
}
`

/**
 * Runs a whole sign-in with go-oidc, without PKCE and with a nonce. `visit` gets the address that the browser is to open, and returns
 * where the app was led to.
 */
export async function signInWithGoOidc(
  configuration: Record<string, string>,
  visit: (url: string) => Promise<string>,
): Promise<{ subject: string; told: string; email: string }> {
  const root = await unpackFromDebian('go-oidc', ['golang-go', 'golang-github-coreos-go-oidc-dev'], '90 MB')
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-go-'))
  writeFileSync(join(folder, 'main.go'), program)
  const version = readdirSync(join(root, 'usr/lib')).find((name) => /^go-[\d.]+$/.test(name)) ?? 'go'
  const goRoot = join(root, 'usr/lib', version)
  const go = join(goRoot, 'bin/go')
  if (!existsSync(go)) throw new Error(`there is no Go at ${go}`)
  const child = spawn(go, ['run', 'main.go'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      GOROOT: goRoot,
      GOPATH: join(root, 'usr/share/gocode'),
      GOCACHE: join(folder, 'cache'),
      GO111MODULE: 'off',
      GOFLAGS: '-buildvcs=false',
      CGO_ENABLED: '0',
    },
    stdio: 'pipe',
  })
  let said = ''
  child.stderr.on('data', (text: Buffer) => {
    said += text
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`go-oidc: ${said}`)
    return value
  }
  try {
    child.stdin.write(`${JSON.stringify(configuration)}\n`)
    const at = await visit(await next())
    child.stdin.end(`${at}\n`)
    return JSON.parse(await next())
  } finally {
    child.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}
