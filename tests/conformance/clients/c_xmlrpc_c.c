/* A challenge by xmlrpc-c's client (on libcurl). Usage: PROGRAM HUB TOKEN ORGANISER SERVER URL PHASE
 * Whatever goes wrong ends the program; it frees nothing, as it is short. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xmlrpc-c/base.h>
#include <xmlrpc-c/client.h>
#include <xmlrpc-c/json.h>

static xmlrpc_env env;
static xmlrpc_client *client;
static const char *hub;
static xmlrpc_value *saw;

static void check(const char *what) {
    if (env.fault_occurred) {
        fprintf(stderr, "%s: %d: %s\n", what, env.fault_code, env.fault_string);
        exit(1);
    }
}

static xmlrpc_value *ask(const char *method, const char *format, ...) {
    xmlrpc_value *result;
    va_list params;
    va_start(params, format);
    xmlrpc_client_call2f_va(&env, client, hub, method, format, &result, params);
    va_end(params);
    check(method);
    return result;
}

/* The fault code that a call gets. */
static int code(const char *method, const char *format, ...) {
    xmlrpc_value *result;
    va_list params;
    va_start(params, format);
    xmlrpc_client_call2f_va(&env, client, hub, method, format, &result, params);
    va_end(params);
    int found = env.fault_occurred ? env.fault_code : 0;
    xmlrpc_env_clean(&env);
    xmlrpc_env_init(&env);
    return found;
}

/* What is at a place in a value: "phases.0.state". */
static xmlrpc_value *at(xmlrpc_value *value, const char *place) {
    char *words = strdup(place), *rest = NULL;
    for (char *word = strtok_r(words, ".", &rest); word; word = strtok_r(NULL, ".", &rest)) {
        xmlrpc_value *found;
        if (isdigit((unsigned char)*word))
            xmlrpc_array_read_item(&env, value, (unsigned)atoi(word), &found);
        else
            xmlrpc_struct_read_value(&env, value, word, &found);
        check(place);
        value = found;
    }
    return value;
}

static const char *text(xmlrpc_value *value) {
    const char *found;
    xmlrpc_read_string(&env, value, &found);
    check("a text");
    return found;
}

static void see(const char *name, xmlrpc_value *value) {
    xmlrpc_struct_set_value(&env, saw, name, value);
    check(name);
}

/* Of every item of an array, the values at some places. */
static xmlrpc_value *each(xmlrpc_value *items, const char *const *places) {
    xmlrpc_value *all = xmlrpc_array_new(&env);
    for (int i = 0; i < xmlrpc_array_size(&env, items); i++) {
        xmlrpc_value *item, *row = xmlrpc_array_new(&env);
        xmlrpc_array_read_item(&env, items, (unsigned)i, &item);
        for (const char *const *place = places; *place; place++)
            xmlrpc_array_append_item(&env, row, at(item, *place));
        xmlrpc_array_append_item(&env, all, row);
    }
    check("each");
    return all;
}

static const char *json(xmlrpc_value *value) {
    xmlrpc_mem_block *made = xmlrpc_mem_block_new(&env, 0);
    xmlrpc_serialize_json(&env, value, made);
    xmlrpc_mem_block_append(&env, made, "", 1);
    check("JSON");
    return xmlrpc_mem_block_contents(made);
}

static void wait_for(const char *token, const char *server, const char *state) {
    while (strcmp(text(at(ask("Servers.get", "(ss)", token, server), "phases.0.state")), state))
        usleep(100000);
}

static int contains(xmlrpc_value *binary, const char *sought) {
    const unsigned char *bytes;
    size_t length, size = strlen(sought);
    xmlrpc_read_base64(&env, binary, &length, &bytes);
    check("base64");
    for (size_t i = 0; i + size <= length; i++)
        if (memcmp(bytes + i, sought, size) == 0)
            return 1;
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 7)
        return 2;
    hub = argv[1];
    const char *token = argv[2], *organiser = argv[3], *server = argv[4], *url = argv[5];
    const char *phase = argv[6];
    xmlrpc_env_init(&env);
    xmlrpc_client_setup_global_const(&env);
    xmlrpc_client_create(&env, XMLRPC_CLIENT_NO_FLAGS, "foreign", "1", NULL, 0, &client);
    saw = xmlrpc_struct_new(&env);
    check("setup");

    see("methods", ask("system.listMethods", "()"));
    see("signature", ask("system.methodSignature", "(s)", "Servers.start"));
    see("help", ask("system.methodHelp", "(s)", "Servers.start"));
    see("title", at(ask("Teams.update", "(ss{s:s})", token, "foreign", "title",
                        "Ångström 中 <&> \""), "title"));

    ask("Phases.open", "(ss)", organiser, phase);
    xmlrpc_value *registered = ask("Servers.register", "(s{s:s,s:s,s:(s)})", token,
                                   "server", server, "url", url, "tasks", "INT");
    see("untested", xmlrpc_int_new(&env, code("Servers.start", "(ss)", token, server)));
    const char *job = text(at(ask("Servers.test", "(ss)", token, server), "job"));
    see("passed", at(ask("Jobs.get", "(ss{s:i})", token, job, "wait", 30), "report.passed"));
    see("tested", xmlrpc_build_value(&env, "(VV)", at(registered, "tested"),
                                     at(ask("Servers.get", "(ss)", token, server), "tested")));
    ask("Servers.next", "(ss{s:s})", token, server, "phase", phase);
    wait_for(token, server, "paused");
    ask("Servers.start", "(ss{})", token, server);
    wait_for(token, server, "finished");
    see("attempts", each(ask("Servers.attempts", "(ss{s:i})", token, server, "limit", 2),
                         (const char *[]){"article", "outcome", NULL}));
    xmlrpc_value *raw = at(ask("Servers.answer", "(ssii)", token, server, 19661423, 1), "raw");
    see("raw", xmlrpc_bool_new(&env, contains(raw, "Ångström")));

    see("faults", xmlrpc_build_value(&env, "{s:i,s:i,s:i,s:i,s:i,s:i,s:i}",
        "wrong token", code("Servers.get", "(ss)", "wrong", server),
        "not theirs", code("Phases.freeze", "(ss)", token, phase),
        "unknown", code("Servers.get", "(ss)", token, "nobody"),
        "wrong field", code("Servers.update", "(ss{s:s})", token, server, "colour", "blue"),
        "wrong value", code("Servers.update", "(ss{s:s})", token, server, "concurrency", "many"),
        "no method", code("Servers.dance", "(s)", token),
        "no token", code("Servers.get", "()")));
    xmlrpc_value *many = ask("system.multicall", "(({s:s,s:(ss)}{s:s,s:(ss)}))",
                             "methodName", "Servers.get", "params", token, server,
                             "methodName", "Servers.get", "params", token, "nobody");
    see("multicall", xmlrpc_build_value(&env, "(VV)", at(many, "0.0.server"),
                                        at(many, "1.faultCode")));
    see("closes", at(ask("Phases.update", "(ss{s:8})", organiser, phase,
                         "closes", "20300102T03:04:05"), "closes"));
    see("large", at(ask("Phases.get", "(s)", phase), "limits.answer_bytes"));
    xmlrpc_value *entries = ask("Audit.list", "(s{s:I,s:i})", organiser,
                                "before", (xmlrpc_int64)8589934592, "limit", 1);
    see("large sent", xmlrpc_int_new(&env, xmlrpc_array_size(&env, entries)));

    ask("Phases.freeze", "(ss)", organiser, phase);
    ask("Phases.close", "(ss)", organiser, phase);
    xmlrpc_value *annotations = ask("Annotations.getAnnotations", "(i)", 19661423);
    xmlrpc_value *same = ask("Annotations.getAnnotations", "(s)", "19661423");
    see("annotations", each(annotations, (const char *[]){"article", "phase", "server", NULL}));
    see("the same", xmlrpc_bool_new(&env, strcmp(json(annotations), json(same)) == 0));
    xmlrpc_value *one = ask("Annotations.getAnnotation", "(ss)", "19661423", server);
    see("hits", each(at(one, "answer.normalizations"),
                     (const char *[]){"dbid", "confidence", NULL}));
    see("servers", ask("Annotations.getAnnotationServerList", "(i)", 19661423));
    xmlrpc_value *board = ask("Boards.get", "(ss{s:n})", phase, "INT", "view");
    see("board", each(at(board, "rows"),
                      (const char *[]){"run", "place", "values.precision", NULL}));
    puts(json(saw));
    return 0;
}
