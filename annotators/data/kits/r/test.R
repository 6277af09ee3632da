# The smoke test: every request of contract.json gets the answer that is expected there.
library(jsonlite)
source("server.R")

matches <- function(expected, got) { # a struct may have more members than are expected
  if (is.list(expected) && !is.null(names(expected))) {
    return(is.list(got) && all(names(expected) %in% names(got)) &&
      all(mapply(matches, expected, got[names(expected)])))
  }
  if (is.list(expected)) {
    return(is.list(got) && length(got) == length(expected) && all(mapply(matches, expected, got) == TRUE))
  }
  if (is.numeric(expected)) return(is.numeric(got) && abs(expected - got) < 1e-9)
  identical(expected, got)
}

right <- function(one) {
  body <- if (is.null(one$base64)) charToRaw(enc2utf8(one$request)) else base64_dec(one$base64)
  answer <- read(charToRaw(respond(body)))
  fault <- xml_find_first(answer, "fault/value")
  if (!inherits(fault, "xml_missing")) return(value(fault)$faultCode %in% unlist(one$faults))
  is.null(one$faults) && matches(one$result, value(child(answer, "params/param/value")))
}

failed <- 0
for (one in fromJSON("contract.json", simplifyVector = FALSE)$cases) {
  good <- isTRUE(tryCatch(right(one), error = function(found) FALSE))
  failed <- failed + !good
  cat(if (good) "ok" else "not ok", "-", one$name, "\n")
}
quit(status = failed > 0)
