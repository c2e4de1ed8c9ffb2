/* Hands the text of a writer to the caller. */
#include "report/writers.h"

#include "base/error.h"

int pyro_report_hand_over(pyro_buf *buf, char **out, size_t *size, pyro_error *error)
{
    size_t length = 0;

    *out = pyro_buf_detach(buf, &length);
    if (size)
        *size = length;
    pyro_buf_free(buf);
    return *out ? PYRO_OK : pyro_fail_memory(error);
}
