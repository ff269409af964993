"""Opens an access token with the standard library alone: checks 1 to 8 of docs/guard-a-backend/tokens.md."""
import base64, hashlib, hmac, json, re, time

class Refused(Exception):
    """A code that says why, for the log. The client is told 401 and no more."""

def hmac_sha256(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()

def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=').decode()

def kid_of(secret):
    return hashlib.sha256(b'gatehouse-kid:' + secret.encode()).hexdigest()[:8]

def whole(value):
    return type(value) is int  # True is an int too

def open_token(token, secrets, app_code, issuer, now=time.time):
    """The claims of a token of this app that one of the secrets signed and whose time has come and not passed."""
    kid = check_form(token).get('kid')
    signed, _, signature = token.rpartition('.')
    named = [secret for secret in secrets if kid_of(secret) == kid] or secrets
    fits = [hmac.compare_digest(encode(hmac_sha256(s.encode(), signed.encode())), signature) for s in named]
    if not any(fits):
        raise Refused('TOKEN_SIGNATURE')
    claims = read_object(signed.split('.')[1])
    check_times(claims, int(now()))
    if claims.get('iss') != issuer:
        raise Refused('TOKEN_ISSUER')
    if claims.get('aud') != app_code:
        raise Refused('TOKEN_AUDIENCE')
    return claims

def check_form(token):
    """The header of a token that has the form of one, and names the one algorithm there is."""
    if len(token) > 16384:
        raise Refused('TOKEN_TOO_LARGE')
    if not re.fullmatch(r'[\w-]+\.[\w-]+\.[\w-]*', token, re.ASCII):
        raise Refused('TOKEN_MALFORMED')
    header = read_object(token.split('.')[0])
    if header.get('alg') != 'HS256' or header.get('typ', 'JWT') != 'JWT' or 'crit' in header or 'b64' in header:
        raise Refused('TOKEN_ALG')
    return header

def read_object(part):
    try:
        data = base64.urlsafe_b64decode(part + '=' * (-len(part) % 4))
        value = json.loads(data.decode())
    except (ValueError, RecursionError):
        raise Refused('TOKEN_MALFORMED') from None
    # Python decodes leniently. Without this, one token has many spellings.
    if not isinstance(value, dict) or encode(data) != part:
        raise Refused('TOKEN_MALFORMED')
    return value

def check_times(claims, now, leeway=5):
    exp, nbf, iat = claims.get('exp'), claims.get('nbf', 0), claims.get('iat')
    if not (whole(exp) and whole(nbf) and whole(iat)):
        raise Refused('TOKEN_CLAIMS')
    if now >= exp + leeway:
        raise Refused('TOKEN_EXPIRED')
    if max(nbf, iat) > now + leeway:
        raise Refused('TOKEN_NOT_YET_VALID')
