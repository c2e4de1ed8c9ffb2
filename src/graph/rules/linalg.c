/*
 * Rules for linear algebra: factorizations, solvers, eigenvalues, powers of matrices. The counts are
 * the leading terms of the usual algorithms (LAPACK; Golub and Van Loan, Matrix Computations). They
 * are FLOPs beside the MACs, except where torch calls a product of matrices.
 */
#include "graph/call.h"
#include "graph/rules/rules.h"

/* A batch of matrices; `small` and `large` are their sizes in order. */
typedef struct matrices {
    int64_t batch, rows, columns, small, large;
} matrices;

static bool matrices_of(pyro_call *call, const pyro_tensor *tensor, matrices *out)
{
    if (!tensor || tensor->rank < 2)
        return false;
    out->batch = pyro_dims_product(call, tensor, 0, tensor->rank - 2u);
    out->rows = tensor->dims[tensor->rank - 2];
    out->columns = tensor->dims[tensor->rank - 1];
    out->small = out->rows < out->columns ? out->rows : out->columns;
    out->large = out->rows < out->columns ? out->columns : out->rows;
    return true;
}

static int64_t product(pyro_call *call, int64_t a, int64_t b, int64_t c)
{
    return pyro_times(call, pyro_times(call, a, b), c);
}

/* large / 3 times large * small^2 of the sizes, plus small / 3 times small^3. */
static int64_t thirds(pyro_call *call, const matrices *of, int64_t large, int64_t small)
{
    int64_t first = pyro_times(call, large, product(call, of->large, of->small, of->small));
    int64_t second = pyro_times(call, small, product(call, of->small, of->small, of->small));
    return pyro_plus(call, first, second) / 3;
}

/* Gaussian elimination: 2/3 n^3 of a square matrix. */
static int64_t elimination(pyro_call *call, const matrices *of)
{
    return thirds(call, of, 3, -1);
}

/* Householder reflections: twice as many as elimination; as many again to form Q. */
static int64_t reflections(pyro_call *call, const matrices *of)
{
    return thirds(call, of, 6, -2);
}

/* Factors of `factorization`. */
enum { CHOLESKY, ELIMINATION, REFLECTIONS, WITH_Q, INVERSE, INVERSE_OF_CHOLESKY };

/* The factors, the determinant or the inverse of every matrix. */
bool pyro_rule_factorization(pyro_call *call, pyro_price *price)
{
    matrices of;
    if (!matrices_of(call, pyro_call_first_tensor(call), &of))
        return false;
    int64_t flops = 0;
    switch (call->op->factor) {
    case CHOLESKY:
        flops = thirds(call, &of, 0, 1);
        break;
    case ELIMINATION:
        flops = elimination(call, &of);
        break;
    case REFLECTIONS:
        flops = reflections(call, &of);
        break;
    case WITH_Q:
        flops = pyro_times(call, 2, reflections(call, &of));
        break;
    case INVERSE:
        flops = thirds(call, &of, 0, 6);
        break;
    case INVERSE_OF_CHOLESKY:
        flops = thirds(call, &of, 0, 2);
        break;
    default:
        return false;
    }
    price->other_flops = pyro_times(call, of.batch, flops);
    return true;
}

/* Q and R, or R alone. */
bool pyro_rule_orthogonal_factors(pyro_call *call, pyro_price *price)
{
    matrices of;
    const pyro_call_arg *mode = pyro_call_find(call, "mode", 1);
    if (!matrices_of(call, pyro_call_first_tensor(call), &of))
        return false;
    bool without_q = mode && mode->text && mode->text[0] == 'r' && !mode->text[1];
    price->other_flops = product(call, of.batch, reflections(call, &of), without_q ? 1 : 2);
    return true;
}

/* Factors of `solve`: how the system is prepared. */
enum { TRIANGULAR, FACTORED, GENERAL };

/* Systems with as many right-hand sides as the solution has columns. */
bool pyro_rule_solve(pyro_call *call, pyro_price *price)
{
    static const char *const systems[] = {"A", "LU", "LU_data", "LD", "input2", "self", NULL};
    matrices of;
    if (!matrices_of(call, pyro_call_tensor_of(call, systems, SIZE_MAX), &of))
        return false;
    /* A right-hand side has `columns` values, and each of them meets a row of the factors. */
    int64_t each = pyro_times(call, of.columns, call->op->factor == TRIANGULAR ? 1 : 2);
    price->other_flops = pyro_times(call, pyro_output_elements(call), each);
    if (call->op->factor == GENERAL)
        price->other_flops = pyro_plus(call, price->other_flops,
                                       pyro_times(call, of.batch, elimination(call, &of)));
    return true;
}

/* Least squares by QR: the factors, Q applied to the right-hand sides, a triangular system. */
bool pyro_rule_least_squares(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *right = pyro_call_tensor(call, "b", 1);
    right = right ? right : pyro_call_tensor(call, "B", 1);
    matrices of;
    if (!matrices_of(call, pyro_call_first_tensor(call), &of) || !right)
        return false;
    int64_t applied = product(call, 4, right->elements, of.small);
    price->other_flops = pyro_plus(call, pyro_times(call, of.batch, reflections(call, &of)),
                                   applied);
    return true;
}

/* Factors of `spectrum`. */
enum { SINGULAR_VALUES, SINGULAR, SYMMETRIC_VALUES, SYMMETRIC, EIGENVALUES, EIGENVECTORS };

/* Singular values and eigenvalues, with or without their vectors. */
bool pyro_rule_spectrum(pyro_call *call, pyro_price *price)
{
    matrices of;
    if (!matrices_of(call, pyro_call_first_tensor(call), &of))
        return false;
    int kind = call->op->factor;
    bool without = pyro_call_integer(call, "compute_uv", SIZE_MAX, 1) == 0 ||
                   pyro_call_integer(call, "compute_v", SIZE_MAX, 1) == 0;
    if (without && (kind == SINGULAR || kind == SYMMETRIC))
        kind--;
    if (kind == SINGULAR_VALUES && pyro_call_integer(call, "hermitian", SIZE_MAX, 0) != 0)
        kind = SYMMETRIC_VALUES;
    /* Thirds of large * small^2 and of small^3 per matrix. */
    static const int thirds_of[][2] = {
        [SINGULAR_VALUES] = {12, -4}, [SINGULAR] = {42, 24},   [SYMMETRIC_VALUES] = {0, 4},
        [SYMMETRIC] = {0, 27},        [EIGENVALUES] = {0, 30}, [EIGENVECTORS] = {0, 75},
    };
    price->other_flops = pyro_times(call, of.batch,
                                    thirds(call, &of, thirds_of[kind][0], thirds_of[kind][1]));
    return true;
}

/* By singular values, then a product of their vectors that torch's counter does not see. */
bool pyro_rule_pseudo_inverse(pyro_call *call, pyro_price *price)
{
    matrices of;
    if (!matrices_of(call, pyro_call_first_tensor(call), &of))
        return false;
    bool symmetric = pyro_call_integer(call, "hermitian", SIZE_MAX, 0) != 0;
    int64_t flops = symmetric ? thirds(call, &of, 0, 27) : thirds(call, &of, 42, 24);
    price->other_flops = pyro_times(call, of.batch, flops);
    price->macs = pyro_times(call, of.batch, product(call, of.rows, of.columns, of.small));
    price->torch_macs = price->fvcore_flops = 0;
    return true;
}

/* k reflections, the columns of the second tensor, applied to a matrix (ormqr) or to the identity. */
bool pyro_rule_reflectors(pyro_call *call, pyro_price *price)
{
    matrices of, on;
    const pyro_tensor *other = call->op->factor ? pyro_call_tensor(call, "input3", 2) : NULL;
    if (!matrices_of(call, pyro_call_first_tensor(call), &of))
        return false;
    if (!call->op->factor) {
        price->other_flops = pyro_times(call, of.batch, reflections(call, &of));
        return true;
    }
    if (!matrices_of(call, other, &on))
        return false;
    price->other_flops = product(call, 4, other->elements, of.small);
    return true;
}

/* Squarings and products of a matrix; a negative power inverts it first. */
bool pyro_rule_matrix_power(pyro_call *call, pyro_price *price)
{
    matrices of;
    if (!matrices_of(call, pyro_call_first_tensor(call), &of))
        return false;
    int64_t power = pyro_call_integer(call, "n", 1, 0), products = 0;
    if (power < 0)
        price->other_flops = pyro_times(call, of.batch, thirds(call, &of, 0, 6));
    uint64_t rest = power < 0 ? 0 - (uint64_t)power : (uint64_t)power;
    for (; rest > 1; rest >>= 1)
        products += 1 + (int64_t)(rest & 1);
    int64_t each = pyro_times(call, of.batch, product(call, of.rows, of.rows, of.rows));
    price->macs = pyro_times(call, products, each);
    price->fvcore_flops = 0;
    return true;
}

/* The Taylor polynomial of degree 18 by 5 products, without the squarings that large values need. */
bool pyro_rule_matrix_exponential(pyro_call *call, pyro_price *price)
{
    enum { PRODUCTS = 5 };
    matrices of;
    if (!matrices_of(call, pyro_call_first_tensor(call), &of))
        return false;
    int64_t each = pyro_times(call, of.batch, product(call, of.rows, of.rows, of.rows));
    price->macs = pyro_times(call, PRODUCTS, each);
    price->torch_macs = price->fvcore_flops = 0;
    return true;
}

/* The integer part of a root, by Newton's method. */
static int64_t square_root(int64_t value)
{
    if (value < 2)
        return value;
    int64_t root = value / 2, next = (root + value / root) / 2;
    while (next < root) {
        root = next;
        next = (root + value / root) / 2;
    }
    return root;
}

/*
 * A tensor as a square matrix: its inverse or, with a right-hand side, the solution. The number of
 * rows is the root of its size.
 */
bool pyro_rule_tensor_system(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *tensor = pyro_call_first_tensor(call);
    if (!tensor)
        return false;
    int64_t rows = square_root(tensor->elements);
    if (rows * rows != tensor->elements)
        return false;
    int64_t cube = product(call, rows, rows, rows);
    price->other_flops = pyro_times(call, 2, cube);
    if (pyro_call_tensor(call, "other", 1))
        price->other_flops = pyro_plus(call, price->other_flops / 3, product(call, 2, rows, rows));
    return true;
}
