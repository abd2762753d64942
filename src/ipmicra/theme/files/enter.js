/* A one-time link's token is behind its #: into the form with it, and out of the address bar. */
"use strict";
(() => {
  const token = location.hash.slice(1);
  const field = document.getElementById("secret");
  if (!token || !field) return;
  history.replaceState(null, "", location.pathname);
  field.value = token;
  field.form.querySelector("button").focus();
})();
