/* A program that uses an exported network: reads its inputs from a file, runs it, writes the outputs to another one.
 *
 * NET is the prefix of the network's functions. Arguments: threads, file with the inputs, file for the outputs.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include HEADER

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define F(name) JOIN(NET, _##name)
#define E(name) JOIN(UPPER, _##name)

enum { CALLERS = 4, RUNS = 10 };

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);                                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static char *inputs[E(INPUTS)], *outputs[E(OUTPUTS)];

static void *copy_of(const void *data, size_t bytes, size_t shift) {
    char *block = malloc(bytes + 64 + shift); /* kept until the program ends */
    CHECK(block);
    memcpy(block + shift, data, bytes);
    return block + shift;
}

/* A caller with a context of its own; its arrays lie where alignment does not help. */
static void *caller(void *number) {
    F(context) *own;
    void *results[E(OUTPUTS)];
    const void *given[E(INPUTS)];
    size_t shift = (size_t)(*(int *)number) * 4 + 4;
    CHECK(F(create)(*(int *)number % 2 + 1, &own) == E(OK));
    for (int i = 0; i < E(INPUTS); i++)
        given[i] = copy_of(inputs[i], (size_t)F(input)(i)->bytes, shift);
    for (int run = 0; run < RUNS; run++) {
        for (int i = 0; i < E(OUTPUTS); i++)
            results[i] = memset(copy_of(outputs[i], (size_t)F(output)(i)->bytes, shift), 0x7f, (size_t)F(output)(i)->bytes);
        CHECK(F(run)(own, given, results) == E(OK));
        for (int i = 0; i < E(OUTPUTS); i++)
            CHECK(memcmp(results[i], outputs[i], (size_t)F(output)(i)->bytes) == 0);
    }
    F(destroy)(own);
    return NULL;
}

static void refusals(F(context) *context) {
    F(context) *none = context;
    CHECK(F(create)(-1, &none) == E(BAD_ARGUMENT) && none == NULL);
    CHECK(F(create)(1 << 20, &none) == E(BAD_ARGUMENT));
    CHECK(F(create)(1, NULL) == E(BAD_ARGUMENT));
    CHECK(F(run)(NULL, (const void *const *)inputs, (void *const *)outputs) == E(BAD_ARGUMENT));
    CHECK(F(run)(context, NULL, (void *const *)outputs) == E(BAD_ARGUMENT));
    CHECK(F(run)(context, (const void *const *)inputs, NULL) == E(BAD_ARGUMENT));
    char *kept = outputs[0];
    outputs[0] = NULL;
    CHECK(F(run)(context, (const void *const *)inputs, (void *const *)outputs) == E(BAD_ARGUMENT));
    outputs[0] = kept;
    CHECK(F(set_threads)(context, 0) == E(BAD_ARGUMENT));
    CHECK(F(set_threads)(NULL, 1) == E(BAD_ARGUMENT));
    CHECK(F(input)(-1) == NULL && F(input)(E(INPUTS)) == NULL && F(output)(E(OUTPUTS)) == NULL);
    CHECK(strlen(F(error_text)(E(BAD_ARGUMENT))) > 0 && strlen(F(error_text)(-7)) > 0);
    F(destroy)(NULL);
}

int main(int count, char **words) {
    CHECK(count == 4);
    CHECK(F(abi)() == E(ABI));
    CHECK(F(missing_feature)() == NULL);
    CHECK(F(input_count)() == E(INPUTS) && F(output_count)() == E(OUTPUTS));
    FILE *file = fopen(words[2], "rb");
    CHECK(file);
    for (int i = 0; i < E(INPUTS); i++) {
        size_t bytes = (size_t)F(input)(i)->bytes;
        inputs[i] = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
        CHECK(inputs[i] && fread(inputs[i], 1, bytes, file) == bytes);
    }
    fclose(file);
    for (int i = 0; i < E(OUTPUTS); i++)
        CHECK((outputs[i] = aligned_alloc(64, (size_t)(F(output)(i)->bytes + 63) / 64 * 64 + 64)));

    F(context) *context;
    CHECK(F(create)(atoi(words[1]), &context) == E(OK));
    CHECK(F(threads)(context) == atoi(words[1]));
    refusals(context);
    CHECK(F(run)(context, (const void *const *)inputs, (void *const *)outputs) == E(OK));
    CHECK(F(set_threads)(context, 3) == E(OK) && F(threads)(context) == 3);
    CHECK(F(run)(context, (const void *const *)inputs, (void *const *)outputs) == E(OK));

    pthread_t callers[CALLERS];
    int numbers[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&callers[i], NULL, caller, &numbers[i]) == 0);
    }
    for (int i = 0; i < CALLERS; i++)
        CHECK(pthread_join(callers[i], NULL) == 0);
    F(destroy)(context);

    file = fopen(words[3], "wb");
    CHECK(file);
    for (int i = 0; i < E(OUTPUTS); i++)
        CHECK(fwrite(outputs[i], 1, (size_t)F(output)(i)->bytes, file) == (size_t)F(output)(i)->bytes);
    CHECK(fclose(file) == 0);
    printf("%s, %s, %s\n", F(name)(), F(version)(), F(target)());
    return 0;
}
