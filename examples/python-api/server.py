"""A backend that uses Gatehouse, in Python without any package. It reads SERVICE_AUTH_URL, SERVICE_APP_CODE and JWT_ACCESS_SECRET
(`authctl app onboard CODE --dev` writes them), verifies tokens itself, and accepts only those of this app."""
import json, os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from gate import Gate, Refused

gate = Gate()

class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        claims = self.authenticate()
        if claims:
            self.answer(200, {'hello': claims['email'], 'app': claims['app_code']})

    def do_DELETE(self):
        claims = self.authenticate()
        if not claims:
            return
        if 'notes:delete' in claims['permissions']:
            self.answer(204)
        else:
            self.refuse(403, 'permission_denied', 'The token does not allow this')

    def log_request(self, *_):
        """Does not log successful requests."""

    def authenticate(self):
        """Returns the claims of the caller, or None if the request was refused."""
        headers = self.headers.get_all('Authorization', [])
        if not headers:
            return self.refuse(401, 'token_missing', 'A bearer token is required', challenge='Bearer')
        scheme, _, token = headers[0].partition(' ')
        try:
            # Of two headers, somebody in between may have read the other one.
            if len(headers) > 1 or scheme.lower() != 'bearer':
                raise Refused('TOKEN_MALFORMED')
            claims = gate.verify(token.strip())
        except Refused as refused:
            self.log_error('refused: %s', refused)
            return self.refuse(401, 'token_invalid', 'The token is not valid', challenge='Bearer error="invalid_token"')
        # A machine token has permissions too, and is no user.
        return claims if claims.get('kind', 'user') == 'user' else self.refuse(403, 'permission_denied', 'The token does not allow this')

    def refuse(self, status, code, title, challenge=None):
        self.answer(status, {'status': status, 'code': code, 'title': title}, challenge)

    def answer(self, status, body=None, challenge=None):
        text = b'' if body is None else json.dumps(body).encode()
        self.send_response(status)
        if challenge:
            self.send_header('WWW-Authenticate', challenge)
        if text:
            self.send_header('Content-Type', 'application/json')
        if status != 204:
            self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)

if __name__ == '__main__':
    gate.start()
    gate.ready.wait(10)  # so that a fresh process lets in nobody who was revoked; a service that is away does not stop it
    server = ThreadingHTTPServer(('127.0.0.1', int(os.environ.get('PORT', '3000'))), Handler)
    print(f'listening on http://127.0.0.1:{server.server_port}', flush=True)
    server.serve_forever()
