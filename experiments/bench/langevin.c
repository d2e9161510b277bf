/* The paper's SGLD cell as a plain C loop: what a careful person would write without any library.
 *
 * FGTS-VA with sparse noise, all vertices of a hypercube as arms, K Langevin steps a round from a warm start. Runs are
 * independent and go to the cores. The same algorithm as in plain.py, with a generator of its own.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define MOST_DIM 16

typedef struct {
    uint64_t word[4];
    double spare;
    int has_spare;
} Stream;

/* splitmix64 fills the state, xoshiro256+ goes on from there. */
static uint64_t scramble(uint64_t *seed) {
    uint64_t z = (*seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static Stream opened(uint64_t seed, uint64_t run) {
    Stream stream = {{0}, 0.0, 0};
    uint64_t state = seed * 0x2545f4914f6cdd1dULL + run;
    for (int i = 0; i < 4; i++) stream.word[i] = scramble(&state);
    return stream;
}

static double uniform(Stream *stream) {
    uint64_t *s = stream->word, sum = s[0] + s[3], shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return (double)(sum >> 11) * 0x1.0p-53;
}

/* The polar method: two normals at a time. */
static double normal(Stream *stream) {
    if (stream->has_spare) {
        stream->has_spare = 0;
        return stream->spare;
    }
    double u, v, square;
    do {
        u = 2 * uniform(stream) - 1;
        v = 2 * uniform(stream) - 1;
        square = u * u + v * v;
    } while (square >= 1 || square == 0);
    double scale = sqrt(-2 * log(square) / square);
    stream->spare = v * scale;
    stream->has_spare = 1;
    return u * scale;
}

/* The largest eigenvalue of a symmetric matrix, by Jacobi's rotations. */
double largest(int d, const double *matrix) {
    double a[MOST_DIM * MOST_DIM];
    memcpy(a, matrix, sizeof(double) * d * d);
    for (int sweep = 0; sweep < 50; sweep++) {
        double off = 0, on = 0;
        for (int i = 0; i < d; i++) {
            on += a[i * d + i] * a[i * d + i];
            for (int j = 0; j < i; j++) off += a[i * d + j] * a[i * d + j];
        }
        if (off <= 1e-26 * on) break;
        for (int p = 0; p < d; p++)
            for (int q = p + 1; q < d; q++) {
                double apq = a[p * d + q];
                if (apq == 0) continue;
                double theta = (a[q * d + q] - a[p * d + p]) / (2 * apq);
                double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < d; k++) {
                    double kp = a[k * d + p], kq = a[k * d + q];
                    a[k * d + p] = c * kp - s * kq;
                    a[k * d + q] = s * kp + c * kq;
                }
                for (int k = 0; k < d; k++) {
                    double pk = a[p * d + k], qk = a[q * d + k];
                    a[p * d + k] = c * pk - s * qk;
                    a[q * d + k] = s * pk + c * qk;
                }
            }
    }
    double top = a[0];
    for (int i = 1; i < d; i++)
        if (a[i * d + i] > top) top = a[i * d + i];
    return top;
}

static int best(int d, int arms, const double *actions, const double *theta) {
    int arm = 0;
    double top = -INFINITY;
    for (int k = 0; k < arms; k++) {
        double value = 0;
        for (int i = 0; i < d; i++) value += actions[k * d + i] * theta[i];
        if (value > top) {
            top = value;
            arm = k;
        }
    }
    return arm;
}

/* grad log p(theta) = shift - P theta + lam a_best. */
void gradient(int d, int arms, const double *actions, const double *precision, const double *shift, double lam,
              const double *theta, double *out) {
    const double *top = actions + best(d, arms, actions, theta) * d;
    for (int i = 0; i < d; i++) {
        double pull = 0;
        for (int j = 0; j < d; j++) pull += precision[i * d + j] * theta[j];
        out[i] = shift[i] - pull + lam * top[i];
    }
}

static double played(int d, int arms, const double *actions, int rounds, int steps, double size, double c, double p,
                     Stream stream) {
    double truth[MOST_DIM], theta[MOST_DIM], slope[MOST_DIM], shift[MOST_DIM] = {0};
    double precision[MOST_DIM * MOST_DIM] = {0};
    double norm = 0, variance = 0, regret = 0, alpha = 1 / sqrt((double)rounds);
    for (int i = 0; i < d; i++) {
        truth[i] = normal(&stream);
        norm += truth[i] * truth[i];
        theta[i] = normal(&stream) / sqrt((double)d);
        precision[i * d + i] = d;
    }
    for (int i = 0; i < d; i++) truth[i] /= sqrt(norm);
    const double *champion = actions + best(d, arms, actions, truth) * d;
    for (int t = 0; t < rounds; t++) {
        double sigma = uniform(&stream) < p ? 1 : 0, bar = sigma > alpha ? sigma : alpha;
        variance += bar * bar;
        double lam = c * sqrt(variance) / (bar * bar);
        double h = size / largest(d, precision), spread = sqrt(2 * h);
        for (int k = 0; k < steps; k++) {
            gradient(d, arms, actions, precision, shift, lam, theta, slope);
            for (int i = 0; i < d; i++) theta[i] += h * slope[i] + spread * normal(&stream);
        }
        const double *arm = actions + best(d, arms, actions, theta) * d;
        double reward = sigma * normal(&stream), weight = 2 / (bar * bar);
        for (int i = 0; i < d; i++) {
            reward += arm[i] * truth[i];
            regret += (champion[i] - arm[i]) * truth[i];
        }
        for (int i = 0; i < d; i++) {
            shift[i] += weight * reward * arm[i];
            for (int j = 0; j < d; j++) precision[i * d + j] += weight * arm[i] * arm[j];
        }
    }
    return regret;
}

/* Final regrets of all runs, on so many cores. */
void langevin(int d, int arms, const double *actions, int runs, int rounds, int steps, double size, double c, double p,
              uint64_t seed, int threads, double *regrets) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int run = 0; run < runs; run++)
        regrets[run] = played(d, arms, actions, rounds, steps, size, c, p, opened(seed, run));
}
