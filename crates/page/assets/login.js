"use strict";
// A login link has the secret behind its #, which browsers send to nobody.
const secret = decodeURIComponent(location.hash.slice(1));
if (secret) {
  history.replaceState(null, "", location.pathname);
  document.getElementById("token").value = secret;
  document.getElementById("login").submit();
}
