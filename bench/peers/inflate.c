/* Decompresses a gzip file with zlib and discards the output: the upper bound for a reader. */
#include <stdio.h>
#include <zlib.h>

int main(int argc, char **argv)
{
    static char bytes[1 << 18];
    gzFile file = argc == 2 ? gzopen(argv[1], "rb") : NULL;
    long long total = 0;
    int got;

    if (!file || gzbuffer(file, sizeof bytes) != 0)
        return 1;
    while ((got = gzread(file, bytes, sizeof bytes)) > 0)
        total += got;
    gzclose(file);
    printf("%lld bytes\n", total);
    return got < 0;
}
