/* An annotation server on xmlrpc-c and its HTTP server Abyss. Usage: PROGRAM PORT
 * xmlrpc-c has no characters beyond U+FFFF, neither in what it reads nor in what it writes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmlrpc-c/base.h>
#include <xmlrpc-c/server.h>
#include <xmlrpc-c/server_abyss.h>

static uint32_t crc32(const unsigned char *bytes, size_t length) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static size_t code_points(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += (text[i] & 0xc0) != 0x80;
    return count;
}

static xmlrpc_value *get_annotation(xmlrpc_env *env, xmlrpc_value *params, void *info, void *call) {
    const char *text, *article = NULL;
    size_t length;
    char seen[300];
    (void)info;
    (void)call;
    if (xmlrpc_array_size(env, params) == 2)
        xmlrpc_decompose_value(env, params, "(s#{s:s,*})", &text, &length, "article_id", &article);
    else
        xmlrpc_decompose_value(env, params, "(s#)", &text, &length);
    if (env->fault_occurred)
        return NULL;
    if (strncmp(text, "fault", 5) == 0) {
        xmlrpc_env_set_fault(env, 42, "no model for Ä & <b>");
        return NULL;
    }
    if (strncmp(text, "crash", 5) == 0) {
        xmlrpc_faultf(env, "out of %s", "memory");
        return NULL;
    }
    snprintf(seen, sizeof seen, "%zu %08x%s%s", code_points(text, length),
             (unsigned)crc32((const unsigned char *)text, length), article ? " " : "",
             article ? article : "");
    free((void *)text);
    free((void *)article);
    return xmlrpc_build_value(
        env,
        "{s:(bd),s:({s:s,s:s,s:i,s:i,s:d,s:s}{s:s,s:i,s:i,s:s}),s:({s:s,s:s,s:i,s:d})}",
        "interaction", (xmlrpc_bool)1, 0.75,
        "normalizations",
        "dbid", "P04637", "dbname", "UniProt", "taxid", (xmlrpc_int32)9606,
        "rank", (xmlrpc_int32)1, "confidence", 0.9, "evidence", seen,
        "dbid", "P38398", "rank", (xmlrpc_int32)2, "confidence", (xmlrpc_int32)1,
        "evidence", "Ångström 中 <&> \"",
        "pairs",
        "dbid_a", "P38398", "dbid_b", "P04637", "rank", (xmlrpc_int32)1, "confidence", 1e-05);
}

int main(int argc, char **argv) {
    xmlrpc_env env;
    if (argc != 2)
        return 2;
    xmlrpc_env_init(&env);
    xmlrpc_limit_set(XMLRPC_XML_SIZE_LIMIT_ID, 64 << 20); /* its default is 512 KB */
    xmlrpc_registry *registry = xmlrpc_registry_new(&env);
    struct xmlrpc_method_info3 method = {
        .methodName = "Annotator.getAnnotation", .methodFunction = get_annotation};
    xmlrpc_registry_add_method3(&env, registry, &method);
    xmlrpc_server_abyss_parms server = {
        .config_file_name = NULL, .registryP = registry, .port_number = (unsigned)atoi(argv[1])};
    xmlrpc_server_abyss(&env, &server, XMLRPC_APSIZE(port_number));
    fprintf(stderr, "%s\n", env.fault_string);
    return 1;
}
