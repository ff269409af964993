"""The same with PyJWT (pip install pyjwt). What PyJWT takes and the service never issues is refused before and after it."""
import time
import jwt
from open_token import Refused, check_form, check_times, kid_of, read_object

def open_token(token, secrets, app_code, issuer, now=time.time):
    kid = check_form(token).get('kid')
    # The clock comes in from outside, so the times are checked here.
    ours = {'verify_exp': False, 'verify_nbf': False, 'verify_iat': False}
    for secret in [s for s in secrets if kid_of(s) == kid] or secrets:
        try:
            jwt.decode(token, secret, algorithms=['HS256'], audience=app_code, issuer=issuer, options=ours)
        except jwt.InvalidSignatureError:
            continue
        except jwt.InvalidTokenError as error:
            raise Refused(type(error).__name__) from None
        claims = read_object(token.split('.')[1])
        # PyJWT takes a list that holds it; its option `strict_aud` is unknown to older versions, which ignore it.
        if claims.get('aud') != app_code:
            raise Refused('TOKEN_AUDIENCE')
        check_times(claims, int(now()))
        return claims
    raise Refused('TOKEN_SIGNATURE')
