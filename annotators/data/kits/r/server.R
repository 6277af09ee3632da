# An annotation server. Replace the body of annotate with your method.
library(httpuv)
library(xml2)

MAX_BYTES <- 16 * 2^20 # of a request
MAX_TAGS <- 1000 # a hub's request has about 40
NAMES <- c(MDM2 = "Q00987", p53 = "P04637", TP53 = "P04637", BRCA1 = "P38398", EGFR = "P00533")

annotate <- function(text, context) { # the first line of text is the title
  words <- strsplit(text, "[^A-Za-z0-9]+", perl = TRUE, useBytes = TRUE)[[1]]
  found <- unname(NAMES[words[words %in% names(NAMES)]])
  dbids <- sort(unique(found), method = "radix")
  counts <- vapply(dbids, function(dbid) sum(found == dbid), 0)
  ordered <- order(-counts) # keeps the order of equal ones
  hits <- lapply(seq_along(ordered), function(rank) {
    count <- counts[[ordered[[rank]]]]
    list(dbid = dbids[[ordered[[rank]]]], rank = rank, confidence = count / (count + 1))
  })
  list(normalizations = hits)
}

fault <- function(code, message) {
  stop(structure(list(message = message, call = NULL, code = code), class = c("fault", "error", "condition")))
}

respond <- function(body) { # the bytes of a methodCall to the text of a methodResponse
  result <- tryCatch(
    paste0("<params><param>", written(called(body)), "</param></params>"),
    fault = function(found) refused(found$code, found$message),
    error = function(found) {
      message(conditionMessage(found))
      refused(-32603L, "annotate failed; see the log of this server")
    }
  )
  enc2utf8(paste0('<?xml version="1.0" encoding="utf-8"?><methodResponse>', result, "</methodResponse>"))
}

refused <- function(code, message) {
  paste0("<fault>", written(list(faultCode = as.integer(code), faultString = message)), "</fault>")
}

called <- function(body) {
  call <- read(body)
  if (xml_name(call) != "methodCall") fault(-32600L, "expected a methodCall")
  params <- lapply(xml_find_all(call, "params/param/value"), value)
  switch(trimws(xml_text(child(call, "methodName"))),
    Annotator.getAnnotation = {
      right <- length(params) %in% 1:2 && is.character(params[[1]])
      if (!right || (length(params) == 2 && !is.list(params[[2]]))) {
        fault(-32602L, "expected (string) or (string, struct)")
      }
      annotate(params[[1]], if (length(params) == 2) params[[2]] else list())
    },
    Annotator.getState = list(state = "Running", version = "1", max_concurrent = 1L),
    system.listMethods = list("Annotator.getAnnotation", "Annotator.getState", "system.listMethods"),
    fault(-32601L, "no such method; see system.listMethods")
  )
}

read <- function(body) {
  if (sum(body == as.raw(0x3c)) > MAX_TAGS) fault(-32700L, paste("more than", MAX_TAGS, "tags"))
  if (any(body == as.raw(0))) fault(-32700L, "not UTF-8") # NUL: UTF-16
  text <- rawToChar(body)
  if (!validUTF8(text)) fault(-32700L, "not UTF-8")
  has <- function(pattern) grepl(pattern, text, perl = TRUE, useBytes = TRUE)
  if (has("^(\\xef\\xbb\\xbf)?\\s*<\\?(?i)xml[^>]*encoding\\s*=\\s*[\"'](?!utf-8[\"'])")) {
    fault(-32700L, "another encoding than UTF-8 is declared")
  }
  if (has("<!(DOCTYPE|ENTITY)")) fault(-32700L, "a document type declaration is not allowed")
  tryCatch(
    read_xml(body, encoding = "UTF-8", options = "NONET"),
    error = function(found) fault(-32700L, "not XML-RPC")
  )
}

child <- function(node, name) {
  found <- xml_find_first(node, name)
  if (inherits(found, "xml_missing")) fault(-32700L, paste("not XML-RPC: no", name))
  found
}

value <- function(node) {
  typed <- xml_find_first(node, "*")
  if (inherits(typed, "xml_missing")) return(xml_text(node))
  text <- xml_text(typed)
  switch(xml_name(typed),
    string = text,
    boolean = trimws(text) == "1",
    int = , i4 = , i8 = , double = suppressWarnings(as.numeric(trimws(text))),
    array = lapply(xml_find_all(child(typed, "data"), "value"), value),
    struct = {
      members <- xml_find_all(typed, "member")
      values <- lapply(members, function(member) value(child(member, "value")))
      names(values) <- vapply(members, function(member) xml_text(child(member, "name")), "")
      values
    },
    fault(-32700L, paste("not a type of XML-RPC:", xml_name(typed)))
  )
}

written <- function(given) {
  inner <- if (is.list(given) && is.null(names(given))) {
    paste0("<array><data>", paste0(vapply(given, written, ""), collapse = ""), "</data></array>")
  } else if (is.list(given)) {
    members <- mapply(
      function(name, one) paste0("<member><name>", escaped(name), "</name>", written(one), "</member>"),
      names(given), given
    )
    paste0("<struct>", paste0(members, collapse = ""), "</struct>")
  } else if (is.logical(given)) {
    paste0("<boolean>", as.integer(given), "</boolean>")
  } else if (is.integer(given)) {
    paste0("<int>", given, "</int>")
  } else if (is.numeric(given)) {
    sprintf("<double>%.17g</double>", given)
  } else {
    paste0("<string>", escaped(given), "</string>")
  }
  paste0("<value>", inner, "</value>")
}

escaped <- function(text) { # XML has no place for most control characters
  text <- gsub("[\\x01-\\x08\\x0b\\x0c\\x0e-\\x1f]", "\ufffd", enc2utf8(text), perl = TRUE)
  for (pair in list(c("&", "&amp;"), c("<", "&lt;"), c(">", "&gt;"))) {
    text <- gsub(pair[[1]], pair[[2]], text, fixed = TRUE)
  }
  text
}

plain <- function(status, text) {
  list(status = status, headers = list("Content-Type" = "text/plain", Connection = "close"), body = text)
}

app <- list(
  onHeaders = function(request) { # an answer here ends the request before its body is read
    length <- suppressWarnings(as.numeric(request$HTTP_CONTENT_LENGTH))
    if (request$REQUEST_METHOD != "POST") return(plain(405L, "XML-RPC by POST\n"))
    if (!isTRUE(length >= 0)) return(plain(411L, "a Content-Length is expected\n"))
    if (length > MAX_BYTES) return(plain(413L, "more bytes than are allowed\n"))
    NULL
  },
  call = function(request) {
    list(
      status = 200L,
      headers = list("Content-Type" = "text/xml; charset=utf-8"),
      body = charToRaw(respond(request$rook.input$read()))
    )
  }
)

if (sys.nframe() == 0L) {
  host <- Sys.getenv("HOST", "127.0.0.1")
  port <- as.integer(Sys.getenv("PORT", "8100"))
  server <- startServer(host, port, app)
  cat(sprintf("listening on http://%s:%d/\n", host, port))
  repeat service(1000) # milliseconds
}
